import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { startServerProcess, untilPrinted, type ServerProcess } from './server-process.ts';

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
  let server = await startRedisServer(directory, port, more);
  return {
    url: `redis://127.0.0.1:${port}`,
    signal: (signal) => server.signal(signal),
    async restart(keepData) {
      await server.end('SIGKILL');
      if (!keepData) await rm(path.join(directory, 'appendonlydir'), { recursive: true, force: true });
      server = await startRedisServer(directory, port, more);
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
      await server.end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];

/** Starts redis-server on a directory, with what it kept there, and resolves once it answers. `more` are its last arguments. */
export async function startRedisServer(
  directory: string,
  port: number,
  more: readonly string[] = [],
): Promise<ServerProcess> {
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory];
  const own = [...place, '--save', '', '--databases', '64', ...DURABLE];
  const server = startServerProcess('redis-server', [...own, ...more]);
  await untilPrinted(server, 'Ready to accept connections');
  return server;
}
