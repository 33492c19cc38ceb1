import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

/** A Redis of the tests' own, which keeps what it has acknowledged (append-only file, synced always). */
export interface TestRedis {
  readonly url: string;
  /** SIGSTOP makes it hang: connections stay, nothing is answered. SIGCONT lets it go on. */
  signal(signal: NodeJS.Signals): void;
  /** Kills the server and starts it again on the same port, with its data or without. */
  restart(keepData: boolean): Promise<void>;
  /** Runs a command, such as `command('REPLICAOF', 'NO', 'ONE')`. */
  command(name: string, ...args: string[]): Promise<unknown>;
  stop(): Promise<void>;
}

export const hasRedisServer = () => spawnSync('redis-server', ['--version']).status === 0;

/** Starts redis-server, on a free port unless told which. `more` are its last arguments. */
export async function startRedis(at?: number, more: readonly string[] = []): Promise<TestRedis> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-redis-'));
  const port = at ?? (await freePort());
  let child = await startRedisServer(directory, port, more);
  return {
    url: `redis://127.0.0.1:${port}`,
    signal: (signal) => child.kill(signal),
    async restart(keepData) {
      child.kill('SIGKILL');
      await once(child, 'exit');
      if (!keepData) await rm(path.join(directory, 'appendonlydir'), { recursive: true, force: true });
      child = await startRedisServer(directory, port, more);
    },
    async command(name, ...args) {
      const client = new Redis({ port });
      try {
        return await client.call(name, ...args);
      } finally {
        client.disconnect();
      }
    },
    async stop() {
      child.kill();
      await once(child, 'exit');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Starts redis-server on a directory, with what it kept there, and resolves once it answers. `more` are its last arguments. */
export async function startRedisServer(
  directory: string,
  port: number,
  more: readonly string[] = [],
): Promise<ChildProcess> {
  const child = spawn(
    'redis-server',
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      directory,
      '--save',
      '',
      '--databases',
      '64',
    ].concat(['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'], more),
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  await outputContains(child, 'Ready to accept connections');
  return child;
}

/** Resolves once the output of a child contains the text. */
export async function outputContains(child: ChildProcess, text: string): Promise<void> {
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await waitFor(() => output.includes(text));
}
