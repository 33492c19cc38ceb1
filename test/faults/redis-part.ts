import { mkdir } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { freePort } from '../support/free-port.ts';
import { startRedisServer } from '../support/redis.ts';
import type { ServerProcess } from '../support/server-process.ts';
import type { Part } from './part.ts';

export interface RedisPart extends Part {
  readonly port: number;
}

/** A Redis that syncs each write to disk before it answers. Not started yet. */
export async function createRedisPart(directory: string): Promise<RedisPart> {
  await mkdir(directory);
  const port = await freePort();
  let server: ServerProcess | undefined;
  const kill = async () => server?.end('SIGKILL');
  return {
    port,
    async start() {
      server = await startRedisServer(directory, port);
    },
    kill,
    freeze: async () => server?.signal('SIGSTOP'),
    thaw: async () => server?.signal('SIGCONT'),
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
