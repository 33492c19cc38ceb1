import { cp, mkdir, readFile, realpath, symlink } from 'node:fs/promises';
import path from 'node:path';
import { quoteForShell } from '../../src/lib/text/command-name.ts';
import { findProgram } from './machine.ts';
import type { Ground } from './place.ts';
import { run, type Shell } from './shell.ts';

/**
 * Installs the smallest Debian of this machine's release and mirror, with these packages, and with nothing else in it or
 * with this machine's Node.js and npm. Its shell works in the directory `inside`, which has the same path inside and outside.
 */
export async function createBareDebian(
  { directory, shell }: Ground,
  inside: string,
  programs: 'Node.js and npm' | 'nothing else',
  packages: readonly string[] = [],
): Promise<Shell> {
  const root = path.join(directory, 'debian');
  const release = await debianRelease();
  const mirror = await debianMirror(shell, release);
  // debootstrap refuses an empty list.
  const include = packages.length > 0 ? `--include=${packages.join(',')}` : '';
  await run(
    shell,
    `debootstrap --variant=minbase ${include} ${release} ${quoteForShell(root)} ${quoteForShell(mirror)}`,
    600,
  );
  if (programs === 'Node.js and npm') await copyNode(root);
  await copyNetworkFiles(root, shell.env);
  await mkdir(path.join(root, inside), { recursive: true });
  const { HOME: _, ...env } = shell.env;
  return {
    ...shell,
    directory: inside,
    env: { ...env, HOME: '/root', PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin' },
    enter: ['unshare', '--mount', 'sh', '-ec', ENTER, 'sh', root, inside],
  };
}

/**
 * Makes the tree of files in $1 the root of a command, as if the machine had booted from it: in a mere `chroot`, the kernel
 * allows no user namespace. The mounts are the command's own and end with it.
 */
const ENTER = `
root=$1 inside=$2
shift 2
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind "$inside" "$root$inside"
cd "$root"
pivot_root . .
umount -l .
cd "$inside"
exec "$@"
`;

async function debianRelease(): Promise<string> {
  const release = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1];
  if (release === undefined) throw new Error('/etc/os-release names no release of Debian');
  return release;
}

/** Where apt gets this release from. */
async function debianMirror(shell: Shell, release: string): Promise<string> {
  const format = '$(RELEASE) $(COMPONENT) $(REPO_URI)';
  const targets = await run(
    shell,
    `apt-get indextargets --format ${quoteForShell(format)} 'Created-By: Packages'`,
    30,
  );
  const prefix = `${release} main `;
  const target = targets.split('\n').find((line) => line.startsWith(prefix));
  if (target === undefined) throw new Error(`apt has no source of ${release} main`);
  return target.slice(prefix.length).replace(/\/$/, '');
}

async function copyNode(root: string): Promise<void> {
  const local = path.join(root, 'usr/local');
  const [node, npm] = ['node', 'npm'].map(findProgram);
  if (node === undefined || npm === undefined) throw new Error('no Node.js with npm on PATH');
  await cp(await realpath(node), path.join(local, 'bin/node'));
  // PACKAGE/bin/npm-cli.js
  const npmPackage = path.dirname(path.dirname(await realpath(npm)));
  await cp(npmPackage, path.join(local, 'lib/node_modules/npm'), { recursive: true });
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', path.join(local, 'bin/npm'));
}

/** The names of servers, and the certificates that the environment names. */
async function copyNetworkFiles(root: string, env: Shell['env']): Promise<void> {
  const certificates = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'npm_config_cafile'].flatMap(
    (name) => env[name] ?? [],
  );
  for (const file of new Set(['/etc/resolv.conf', '/etc/hosts', ...certificates])) {
    await cp(file, path.join(root, file), { dereference: true });
  }
}
