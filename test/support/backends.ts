import { Redis } from 'ioredis';
import { inject } from 'vitest';

/** The Redis of this worker: a database number of its own, emptied. */
export async function emptyRedis(): Promise<string> {
  const configured = inject('redisUrl');
  if (configured === undefined) throw new Error('no Redis: the test should have been skipped');
  const url = new URL(configured);
  url.pathname = `/${process.env['VITEST_POOL_ID'] ?? '0'}`;
  const redis = new Redis(url.href);
  await redis.flushdb();
  redis.disconnect();
  return url.href;
}

/** Both engines of the queue, by name; Redis is skipped, by that name, where there is none. */
export const BACKENDS = [
  { backend: 'queue in Postgres', available: true, usesRedis: false },
  { backend: 'queue in Redis', available: inject('redisUrl') !== undefined, usesRedis: true },
] as const;
