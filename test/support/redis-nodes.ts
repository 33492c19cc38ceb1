import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { startRedisServer } from './redis.ts';

/** One of several Redis servers that belong together. */
export interface RedisNode {
  readonly port: number;
  /** A client of the test for this server alone. */
  readonly client: Redis;
  readonly isRunning: () => boolean;
  /** SIGSTOP makes it hang, SIGCONT lets it go on. */
  signal(signal: NodeJS.Signals): void;
  /** `kill -9`. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, with its data. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a Redis server in a directory below this one; `more` are its last arguments, which may depend on its port. */
export async function startNode(
  parent: string,
  more: (port: number) => readonly string[] | Promise<readonly string[]>,
  options: { readonly username?: string; readonly password?: string } = {},
): Promise<RedisNode> {
  const port = await freePort();
  const directory = path.join(parent, String(port));
  await mkdir(directory);
  const all = await more(port);
  let child: ChildProcess = await startRedisServer(directory, port, all);
  const client = new Redis({ port, ...options, retryStrategy: () => 100, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const end = async (signal: NodeJS.Signals) => {
    if (!isRunning()) return;
    const exited = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    await exited;
  };
  return {
    port,
    client,
    isRunning,
    signal: (signal) => child.kill(signal),
    kill: () => end('SIGKILL'),
    async start() {
      child = await startRedisServer(directory, port, all);
    },
    async stop() {
      client.disconnect();
      await end('SIGKILL');
    },
  };
}
