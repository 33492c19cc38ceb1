import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { freePort } from '../support/free-port.ts';
import { startRedisServer } from '../support/redis.ts';
import type { Part } from './part.ts';

export interface RedisPart extends Part {
  readonly port: number;
}

/** A Redis that syncs each write to disk before it answers. Not started yet. */
export async function createRedisPart(directory: string): Promise<RedisPart> {
  await mkdir(directory);
  const port = await freePort();
  let server: ChildProcess | undefined;
  const kill = async () => {
    const killed = server;
    server = undefined;
    if (killed === undefined || killed.exitCode !== null) return;
    const ended = once(killed, 'exit');
    killed.kill('SIGKILL');
    await ended;
  };
  return {
    port,
    async start() {
      server = await startRedisServer(directory, port);
    },
    kill,
    freeze: async () => void server?.kill('SIGSTOP'),
    thaw: async () => void server?.kill('SIGCONT'),
    stop: kill,
  };
}

/** Sends one command. Rejects when Redis refuses it. */
export async function askRedis({ port }: RedisPart, command: string, ...args: string[]): Promise<void> {
  const redis = new Redis(port, '127.0.0.1', { lazyConnect: true });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.call(command, ...args);
  } finally {
    redis.disconnect();
  }
}
