import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import packageJson from '../package.json' with { type: 'json' };
import { freePort } from './support/free-port.ts';
import { useDirectory } from './support/use-directory.ts';
import { waitFor } from './support/wait-for.ts';

const run = promisify(execFile);
const CHECKOUT = path.resolve(import.meta.dirname, '..');

const Packed = z.tuple([
  z.object({ filename: z.string(), size: z.number(), files: z.array(z.object({ path: z.string() })) }),
]);

const directory = useDirectory();
/** An empty folder in which somebody has run `npm install` of the tarball. */
const folder = path.join(directory, 'folder');
let packed: z.infer<typeof Packed>[0];
beforeAll(async () => {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', directory], { cwd: CHECKOUT });
  [packed] = Packed.parse(JSON.parse(stdout));
  await mkdir(folder);
  // The cache of npm has what this checkout was installed from. npm 12 runs no install scripts.
  const tarball = path.join(directory, packed.filename);
  await run('npm', ['install', '--prefer-offline', '--ignore-scripts', tarball], { cwd: folder });
}, 600_000);

const npx = (...args: readonly string[]) => run('npx', ['xiq-sink', ...args], { cwd: folder });

it('has what the program reads, and nothing that only a checkout uses', () => {
  const files = packed.files.map((file) => file.path);
  expect(files).toEqual(
    expect.arrayContaining([
      '.env.example',
      'bin/strip-types.js',
      'bin/xiq-sink',
      'deploy/xiq-sink.service',
      'docs/operating.md',
      'emulator/emulator.ts',
      'migrations/0002_events.sql',
      'src/console/browser/console.css',
      'src/main.ts',
    ]),
  );
  expect(files.filter((file) => /^bench|\btest\b|\.test\.|vendor|\.png$/.test(file))).toEqual([]);
  expect(packed.size).toBeLessThan(1_500_000);
});

it('runs no script of its own at the installation', () => {
  expect(Object.keys(packageJson.scripts).filter((name) => /^(?:pre|post)?install$/.test(name))).toEqual([]);
});

it('shows its version', async () => {
  expect((await npx('--version')).stdout).toBe(`${packageJson.version}\n`);
});

it('runs the demo without install scripts until events are stored, and stops it', async () => {
  const env = { ...process.env, PORT: String(await freePort()), ADMIN_PORT: '0' };
  const demo = spawn('npx', ['xiq-sink', 'demo'], { cwd: folder, env, detached: true });
  const exited = once(demo, 'exit');
  let output = '';
  for (const stream of [demo.stdout, demo.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  try {
    await waitFor(() => {
      if (demo.exitCode !== null) throw new Error(`the demo ended with ${demo.exitCode}: ${output}`);
      return /[1-9][\d,]* events of/.test(output);
    }, 60_000);
  } finally {
    // Ctrl-C reaches the whole group of a terminal.
    if (demo.pid !== undefined) process.kill(-demo.pid, 'SIGINT');
    await exited;
  }
  expect(output).toContain('node_modules/xiq-sink/bin/xiq-sink sql');
});
