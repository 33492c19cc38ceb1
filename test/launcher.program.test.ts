import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LAUNCHER } from '../src/lib/text/command-name.ts';

const run = promisify(execFile);
const CHECKOUT = path.resolve(LAUNCHER, '../..');

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink launcher ü-'));
});
afterEach(() => rm(directory, { recursive: true }));

/** A launcher in a package of its own, without anything else. */
async function placeLauncher(...place: readonly string[]): Promise<string> {
  const launcher = path.join(directory, ...place, 'bin', 'xiq-sink');
  await cp(LAUNCHER, launcher);
  return launcher;
}

/** A program that says that it is this version of Node.js, and prints what it is asked to run. */
async function placeNode(version: string, ...place: readonly string[]): Promise<string> {
  const file = path.join(directory, ...place, 'node');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n[ "$1" = --version ] && echo ${version} || echo ${version} "$@"\n`);
  await chmod(file, 0o755);
  return path.dirname(file);
}

/** What a launcher prints, with a PATH that has the commands of the system, but no Node.js other than this. */
async function launch(launcher: string, node?: string) {
  const commands = path.join(directory, 'commands');
  await mkdir(commands, { recursive: true });
  for (const name of ['sh', 'readlink', 'dirname', 'cat']) {
    await symlink(await commandAt(name), path.join(commands, name));
  }
  const env = { PATH: [...(node === undefined ? [] : [node]), commands].join(':') };
  return run(launcher, ['serve'], { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: unknown) => Failed.parse(error),
  );
}

const Failed = z.object({ code: z.number(), stdout: z.string(), stderr: z.string() });

async function commandAt(name: string): Promise<string> {
  const { stdout } = await run('sh', ['-c', `command -v ${name}`]);
  return stdout.trim();
}

describe('the launcher takes the Node.js', () => {
  it('of its own package, before the one on the PATH', async () => {
    const launcher = await placeLauncher('checkout');
    await placeNode('v24.14.0', 'checkout', 'node_modules', '.bin');
    const { stdout } = await launch(launcher, await placeNode('v24.15.0', 'path'));
    expect(stdout).toMatch(/^v24\.14\.0 .*\/checkout\/src\/main\.ts serve$/m);
  });

  it('that npm has placed above it, and lets Node.js read TypeScript there', async () => {
    const launcher = await placeLauncher('project', 'node_modules', 'xiq-sink');
    await placeNode('v24.14.0', 'project', 'node_modules', '.bin');
    const { stdout } = await launch(launcher);
    expect(stdout).toMatch(/^v24\.14\.0 .* --import .*\/strip-types\.js .*\/xiq-sink\/src\/main\.ts serve$/m);
  });

  it('on the PATH if its own is too old, or does not run here', async () => {
    const launcher = await placeLauncher('checkout');
    const onPath = await placeNode('v26.0.0', 'path');
    const own = await placeNode('v22.5.0', 'checkout', 'node_modules', '.bin');
    expect((await launch(launcher, onPath)).stdout).toMatch(/^v26\.0\.0 /);
    await rm(path.join(directory, 'commands'), { recursive: true });
    await writeFile(path.join(own, 'node'), 'for another processor');
    expect((await launch(launcher, onPath)).stdout).toMatch(/^v26\.0\.0 /);
  });
});

describe('the launcher says in one sentence what is missing', () => {
  it.each([
    ['v20.20.2', ' (found only v20.20.2)'],
    ['v24.13.1', ' (found only v24.13.1)'],
    [undefined, ''],
  ])('with %s on the PATH', async (version, found) => {
    const launcher = await placeLauncher('checkout');
    const node = version === undefined ? undefined : await placeNode(version, 'path');
    const root = path.join(directory, 'checkout');
    expect(await launch(launcher, node)).toEqual({
      code: 2,
      stdout: '',
      stderr: `xiq-sink: Node.js 24.14 or newer is missing${found}: run npm install in ${root}, or install it from https://nodejs.org and put it on the PATH.\n`,
    });
  });

  it('without packages', async () => {
    const launcher = await placeLauncher('checkout');
    const root = path.join(directory, 'checkout');
    for (const name of ['src', 'package.json']) {
      await cp(path.join(CHECKOUT, name), path.join(root, name), { recursive: true });
    }
    expect(await launch(launcher, path.dirname(process.execPath))).toEqual({
      code: 2,
      stdout: '',
      stderr: `xiq-sink: Packages that xiq-sink needs are not installed. Run npm install in ${root} first.\n`,
    });
  });
});
