import { execFile } from 'node:child_process';
import { cp, lstat, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  endOfProgram,
  postDelivery,
  runProgram,
  SECRET,
  startProgram,
  startProgramAt,
} from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { useDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { listen } from '../support/listen.ts';

const run = promisify(execFile);

/** Standard output as on a terminal. The log stays JSON lines. */
const TERMINAL = { NODE_OPTIONS: '--import=data:text/javascript,process.stdout.isTTY=true' };

/** The command on a screen that begins so, with the lines that it is continued on. */
const commandIn = (screen: string, name: string) =>
  new RegExp(String.raw`^ +(${name}(?:.*[\\,]\n)*.*)$`, 'm').exec(screen)?.[1];

const directory = useDirectory();
const settings = { DATA_DIR: path.join(directory, 'data') };
let program: Program | undefined;
afterAll(() => program?.end('SIGTERM'));

const search = (...args: string[]) => runProgram(settings, 'events', 'search', ...args);

const secretShown = /[0-9a-f]{64}/;

describe('the first start, without any settings', () => {
  it('is ready within 10 s, and the curl line it prints stores an event that events search shows', async () => {
    const began = performance.now();
    program = await startProgram({ ...settings, ...TERMINAL });
    expect(performance.now() - began).toBeLessThan(10_000);
    const { output } = program;
    const curl = await waitFor(() => commandIn(output(), 'curl'));
    const { stdout } = await run('sh', ['-c', curl.replace('curl', 'curl -sS')]);
    expect(JSON.parse(stdout)).toMatchObject({ records: 1, quarantined: 0, durability: 'queued' });
    await waitFor(async () => (await search('--type', 'AUDIT_LOG_ALL')).includes('admin@example.com'));
  });

  it('shows a line for each step, then what to do next, in 80 columns and without a warning', async () => {
    const output = program?.output() ?? '';
    const lines = output.replaceAll(path.join(directory, 'data'), 'data').split('\n');
    const shown = lines.filter((line) => !line.startsWith('{')).map((line) => stripVTControlCharacters(line));
    expect(shown.slice(0, 3)).toEqual([
      expect.stringMatching(/^Creating the database \(.*s\)$/),
      expect.stringMatching(/^Preparing the tables \(.*s\)$/),
      expect.stringMatching(/^Listening on http:\/\/localhost:\d+$/),
    ]);
    expect(shown.filter((line) => line.length > 80)).toEqual([]);
    expect(shown.at(-2)).toMatch(/^Press Ctrl-C to stop/);
    expect(output).not.toMatch(/"level":[456]0/);
  });

  it('prints a query that finds its data directory', async () => {
    const query = commandIn(program?.output() ?? '', 'DATA_DIR=') ?? '';
    const { stdout } = await run('sh', ['-c', query]);
    expect(stdout).toContain('admin@example.com');
  });

  it('leaves nothing in its data directory that other users could read', async () => {
    const data = path.join(directory, 'data');
    const names = ['.', ...(await readdir(data, { recursive: true }))];
    const modes = await Promise.all(
      names.map(async (name) => (await lstat(path.join(data, name))).mode & 0o777),
    );
    expect(names).toEqual(expect.arrayContaining(['webhook-secret', path.join('postgres', 'server.log')]));
    expect(names.filter((_, index) => ((modes[index] ?? 0) & 0o066) !== 0)).toEqual([]);
  });

  it('refuses a second start on the same directory with exit code 2, and says so', async () => {
    await expect(startProgram(settings)).rejects.toThrow(
      /ended with 2: [\s\S]*Another xiq-sink is already running on/,
    );
  });

  it('takes its database over after a kill -9, and does not show the secret again', async () => {
    await program?.end('SIGKILL');
    program = await startProgram(settings);
    expect(program.output()).not.toMatch(/webhook secret|[0-9a-f]{64}/i);
    expect(await search('--type', 'AUDIT_LOG_ALL')).toContain('admin@example.com');
    expect(await program.end('SIGTERM')).toBe(0);
    program = undefined;
  });

  it('starts the database for the time of a command when serve does not run', async () => {
    expect(await search('--type', 'AUDIT_LOG_ALL')).toContain('admin@example.com');
    await expect(
      readFile(path.join(directory, 'data', 'postgres', 'cluster', 'postmaster.pid')),
    ).rejects.toThrow('ENOENT');
  });

  it('starts in spite of a postmaster.pid whose number belongs to another program by now', async () => {
    const pidFile = path.join(directory, 'data', 'postgres', 'cluster', 'postmaster.pid');
    await writeFile(pidFile, `${process.pid}\n/nowhere\n0\n1\n\n\n`, { mode: 0o600 });
    program = await startProgram({ ...settings, LOG_LEVEL: 'debug' });
    expect(await search('--type', 'AUDIT_LOG_ALL')).toContain('admin@example.com');
  });
});

describe('a port in use', () => {
  it.each([
    ['serve', 'PORT', 'ADMIN_PORT'],
    ['serve', 'ADMIN_PORT', 'PORT'],
    ['demo', 'PORT', 'ADMIN_PORT'],
  ])('stops %s with one line that names %s', async (command, setting, other) => {
    const server = createServer();
    const port = String(await listen(server));
    try {
      const dataDir = path.join(directory, 'port-in-use');
      const { code, stderr } = await endOfProgram(
        { DATA_DIR: dataDir, HOST: '127.0.0.1', LOG_LEVEL: 'warn', [setting]: port, [other]: '0' },
        command,
      );
      expect(stderr).toBe(
        `xiq-sink: Port ${port} is already in use. Stop the other program (perhaps another xiq-sink), or set ${setting} to a free port.\n`,
      );
      expect(code).toBe(2);
    } finally {
      server.close();
    }
  });
});

describe('the first start on a terminal', () => {
  it('shows the secret it has generated, once', async () => {
    const onTerminal = { DATA_DIR: path.join(directory, 'terminal'), ...TERMINAL };
    for (const isFirst of [true, false]) {
      const service = await startProgram(onTerminal);
      await waitFor(() => service.output().includes('Press Ctrl-C'));
      expect(await service.end('SIGTERM')).toBe(0);
      const secret = await readFile(path.join(directory, 'terminal', 'webhook-secret'), 'utf8');
      expect(service.output().split(secret).length - 1).toBe(isFirst ? 1 : 0);
    }
  });
});

describe('the first start in a pipe', () => {
  it('prints JSON lines alone, which name the file of the generated secret and not the secret', async () => {
    const dataDir = path.join(directory, 'pipe');
    const service = await startProgram({ DATA_DIR: dataDir });
    expect(await service.end('SIGTERM')).toBe(0);
    const lines = service.output().trim().split('\n');
    const file = path.join(dataDir, 'webhook-secret');
    const secret = await readFile(file, 'utf8');
    expect(secret).toMatch(secretShown);
    expect(
      lines.map((line) => z.looseObject({ level: z.literal(30) }).parse(JSON.parse(line))),
    ).toContainEqual(expect.objectContaining({ msg: 'webhook secret generated', file }));
    expect(service.output()).not.toContain(secret);
  });
});

it('the program in a directory of npm runs its TypeScript there, in threads as well', async () => {
  const installed = path.join(directory, 'node_modules', 'xiq-sink');
  const checkout = path.resolve(import.meta.dirname, '../..');
  for (const name of ['bin', 'src', 'emulator', 'migrations', 'package.json']) {
    await cp(path.join(checkout, name), path.join(installed, name), { recursive: true });
  }
  await symlink(path.join(checkout, 'node_modules'), path.join(installed, 'node_modules'));
  const service = await startProgramAt(path.join(installed, 'bin', 'xiq-sink'), {
    DATA_DIR: path.join(directory, 'installed'),
    WEBHOOK_SECRET: SECRET,
  });
  try {
    // A body of this size is read by a thread.
    const records = Array.from({ length: 3_000 }, (_, code) => ({ code, description: 'x'.repeat(100) }));
    const response = await postDelivery(service, 'AUDIT_LOG_ALL', records);
    expect(await response.json()).toMatchObject({ records: 3_000, quarantined: 0 });
    expect(service.output()).not.toContain('Warning');
  } finally {
    await service.end('SIGTERM');
  }
});
