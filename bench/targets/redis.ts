import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { freePort } from '../../test/support/free-port.ts';
import { startChild } from './child.ts';
import type { Place } from './target.ts';

/** Starts a Redis that syncs each write to disk before it answers. */
export async function startRedis(place: Place): Promise<{ readonly url: string; readonly pid: number }> {
  const port = await freePort();
  const options = {
    port: String(port),
    bind: '127.0.0.1',
    dir: place.directory,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  const pid = await startChild(
    {
      name: 'redis-server',
      command: 'redis-server',
      args: Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
      env: {},
      check: () => ping(port),
    },
    place,
  );
  return { url: `redis://127.0.0.1:${port}`, pid };
}

async function ping(port: number): Promise<void> {
  const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}

/** The version of the `redis-server` on PATH; undefined if there is none. */
export async function redisVersion(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('redis-server', ['--version']);
    return /v=(\S+)/.exec(stdout)?.[1] ?? stdout.trim();
  } catch {
    return undefined;
  }
}
