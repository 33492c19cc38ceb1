import { mkdir, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { quoteForShell } from '../../src/lib/text/command-name.ts';
import { createBareDebian } from './bare-debian.ts';
import { findProgram, isRoot } from './machine.ts';
import { createOrdinaryUser } from './ordinary-user.ts';
import type { Ground, Place, Site } from './place.ts';
import { run, type Shell } from './shell.ts';

const REPOSITORY = path.resolve(import.meta.dirname, '../..');

const needsRoot = () => (isRoot ? undefined : 'needs root');

const needsDebootstrap = () =>
  needsRoot() ?? (findProgram('debootstrap') === undefined ? 'needs debootstrap' : undefined);

/** Every place of the table, in its order. */
export const PLACES: readonly Place[] = [
  {
    name: 'root',
    title: 'root in /root',
    parent: os.homedir(),
    isShort: true,
    tests: 'whole',
    obstacle: needsRoot,
    open: openCheckout,
  },
  {
    name: 'opt',
    title: 'root in /opt',
    parent: '/opt',
    tests: 'subset',
    obstacle: needsRoot,
    open: openCheckout,
  },
  {
    name: 'user',
    title: 'an ordinary user, in a home of mode 700',
    isShort: true,
    tests: 'whole',
    async open(ground) {
      const { shell, own } = await createOrdinaryUser(ground);
      const checkout = await clone(ground, path.join(shell.directory, 'xiq-sink'));
      await copyNpmCache(ground, shell.directory);
      await own(shell.directory);
      return siteIn({ ...shell, directory: checkout });
    },
  },
  {
    name: 'blanks',
    title: 'a path with blanks and umlauts',
    tests: 'subset',
    async open(ground) {
      return siteIn({
        ...ground.shell,
        directory: await clone(ground, 'Öffentliche Ablage/xiq sink für alle'),
      });
    },
  },
  {
    name: 'read-only',
    title: 'a read-only checkout, with DATA_DIR elsewhere',
    async open(ground) {
      const { shell } = await createOrdinaryUser(ground);
      const directory = await clone(ground);
      await run({ ...ground.shell, directory }, 'npm install', 300);
      await run(ground.shell, `chmod -R a-w ${quoteForShell(directory)}`, 30);
      ground.afterwards(`chmod -R u+w ${quoteForShell(directory)}`);
      const services = [{ DATA_DIR: path.join(shell.directory, 'data') }];
      return { ...siteIn({ ...shell, directory }), install: 'true', services };
    },
  },
  {
    name: 'bare-debian',
    title: 'a bare Debian with Node.js and npm alone',
    tests: 'subset',
    obstacle: needsDebootstrap,
    async open(ground) {
      const directory = await clone(ground);
      const shell = await createBareDebian(ground, directory, 'Node.js and npm');
      await copyNpmCache(ground, path.join(ground.directory, 'debian', shell.env['HOME'] ?? ''));
      return { ...siteIn(shell), curlShell: { ...ground.shell, directory } };
    },
  },
  {
    name: 'no-npm',
    title: 'a bare Debian without Node.js and npm: a folder that was installed elsewhere',
    obstacle: needsDebootstrap,
    async open(ground) {
      const installed = path.join(ground.directory, 'installed');
      const copy = path.join(ground.directory, 'copied');
      const checkout = await clone(ground);
      await mkdir(installed);
      const install = `${installTarball(checkout)} && cp -a . ${quoteForShell(copy)}`;
      await run({ ...ground.shell, directory: installed }, install, 600);
      await run(ground.shell, `rm -r ${quoteForShell(installed)}`, 60);
      const shell = await createBareDebian(ground, copy, 'nothing else');
      const start = 'node_modules/.bin/xiq-sink serve';
      return { ...siteIn(shell), curlShell: { ...ground.shell, directory: copy }, install: 'true', start };
    },
  },
  {
    name: 'systemd',
    title: "a bare Debian with systemd: what its unit starts, as the unit's user",
    obstacle: needsDebootstrap,
    async open(ground) {
      const directory = await clone(ground);
      const shell = await createBareDebian(ground, directory, 'Node.js and npm', ['systemd', 'curl']);
      await copyNpmCache(ground, path.join(ground.directory, 'debian', shell.env['HOME'] ?? ''));
      await run(shell, `ln -s ${quoteForShell(directory)} /opt/xiq-sink`, 10);
      // No systemd runs here: this directory is its work, too.
      const made = 'install -d -m 700 -o xiq-sink -g xiq-sink /var/lib/xiq-sink';
      const verified = 'systemd-analyze verify --man=no /etc/systemd/system/xiq-sink.service';
      const user = 'setpriv --reuid=xiq-sink --regid=xiq-sink --init-groups';
      const start = `${user} env NODE_ENV=production DATA_DIR=/var/lib/xiq-sink /opt/xiq-sink/bin/xiq-sink serve`;
      const lines = [...(await systemdLines(directory)), made, verified];
      return { ...siteIn(shell), install: lines.join(' && '), start };
    },
  },
  {
    name: 'no-namespaces',
    title: 'without user namespaces',
    parent: os.homedir(),
    tests: 'subset',
    async open(ground) {
      // The program may have to make this user.
      const hasUser = await run(ground.shell, 'getent passwd postgres || true', 10);
      if (isRoot && hasUser === '') ground.afterwards('userdel postgres || true');
      const programs = path.join(ground.directory, 'programs');
      await mkdir(programs);
      const refusal = '#!/bin/sh\necho "unshare: unshare failed: Operation not permitted" >&2\nexit 1\n';
      await writeFile(path.join(programs, 'unshare'), refusal, { mode: 0o755 });
      return siteIn(withPrograms({ ...ground.shell, directory: await clone(ground) }, programs));
    },
  },
  { ...nodePlace(20, 'npm ci --omit=dev'), isShort: true },
  { ...nodePlace(20), tests: 'subset' },
  { ...nodePlace(22), tests: 'subset' },
  { ...nodePlace(24), tests: 'subset' },
  {
    name: 'global',
    title: 'a global install of the tarball',
    async open(ground) {
      const checkout = await clone(ground);
      const directory = path.join(ground.directory, 'work');
      await mkdir(directory);
      const shell = withPrograms({ ...ground.shell, directory }, path.join(ground.directory, 'global/bin'));
      const install = `npm pack ${quoteForShell(checkout)} && npm install -g --prefix ../global ./xiq-sink-*.tgz`;
      return { ...siteIn(shell), install, start: 'xiq-sink serve' };
    },
  },
  {
    name: 'folder',
    title: 'the tarball in an empty folder, by npx',
    isShort: true,
    async open(ground) {
      const checkout = await clone(ground);
      const directory = path.join(ground.directory, 'folder');
      await mkdir(directory);
      const shell = { ...ground.shell, directory };
      return { ...siteIn(shell), install: installTarball(checkout), start: 'npx xiq-sink serve' };
    },
  },
  {
    name: 'side-by-side',
    title: 'two services side by side',
    async open(ground) {
      return { ...(await openCheckout(ground)), services: [{}, { DATA_DIR: './data-2' }] };
    },
  },
];

/** The machine's own Node.js is this version of npm's package `node`. */
function nodePlace(version: number, install = 'npm install'): Place {
  const isComplete = install === 'npm install';
  return {
    name: isComplete ? `node-${version}` : `node-${version}-production`,
    title: `Node.js ${version}${isComplete ? '' : `, ${install}`}`,
    async open(ground) {
      await run(ground.shell, `npm install --prefix ./machine node@${version}`, 300);
      const programs = path.join(ground.directory, 'machine/node_modules/node/bin');
      const shell = withPrograms({ ...ground.shell, directory: await clone(ground) }, programs);
      return { ...siteIn(shell), install };
    },
  };
}

async function openCheckout(ground: Ground): Promise<Site> {
  return siteIn({ ...ground.shell, directory: await clone(ground) });
}

/** What docs/deploying.md has people type before systemd starts the service, in a checkout. */
async function systemdLines(checkout: string): Promise<readonly string[]> {
  const page = await readFile(path.join(checkout, 'docs/deploying.md'), 'utf8');
  const lines = /^## systemd\n\n```sh\n(.*?)\n```/ms.exec(page)?.[1]?.split('\n') ?? [];
  return lines
    .filter((line) => !line.startsWith('systemctl '))
    .map((line) => line.replace(/^git clone .* && (?=npm )/, '').replace(/ +#.*$/, ''));
}

/** Makes the tarball of a release, and installs it in the present folder. */
const installTarball = (checkout: string) =>
  `npm pack ${quoteForShell(checkout)} && npm install ./xiq-sink-*.tgz`;

/** What the README says, where this shell is. */
const siteIn = (shell: Shell): Site => ({
  shell,
  install: 'npm install',
  start: 'npm start',
  services: [{}],
});

/** These programs are found before the machine's. */
const withPrograms = (shell: Shell, folder: string): Shell => ({
  ...shell,
  env: { ...shell.env, PATH: `${folder}${path.delimiter}${shell.env['PATH']}` },
});

/** Clones what is committed here. Gives the directory of the new checkout. */
async function clone({ shell, directory }: Ground, name = 'xiq-sink'): Promise<string> {
  const checkout = path.resolve(directory, name);
  // Hard links would give the objects of this repository to whoever owns the checkout.
  await run(
    shell,
    `git clone --quiet --no-hardlinks ${quoteForShell(REPOSITORY)} ${quoteForShell(checkout)}`,
    60,
  );
  return checkout;
}

/** Spares another home the downloads that this machine has made already. */
async function copyNpmCache({ shell }: Ground, home: string): Promise<void> {
  const copy = quoteForShell(path.join(home, '.npm'));
  const cache = '"$(npm config get cache)/_cacache"';
  await run(shell, `mkdir ${copy} && if [ -d ${cache} ]; then cp -r ${cache} ${copy}; fi`, 60);
}
