import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import { query } from '../support/query.ts';

/** Tells what waits in a queue, as text that contains the ids of the deliveries. */
export type ReadQueue = () => Promise<string>;

/** All hashes of these Redis servers: a job of BullMQ is one. A replica answers as well as its master. */
export function redisQueue(ports: () => readonly number[]): ReadQueue {
  return async () => {
    const texts: string[] = [];
    for (const port of ports()) {
      const redis = new Redis(port, '127.0.0.1', { retryStrategy: () => null });
      redis.on('error', () => undefined);
      try {
        for await (const keys of redis.scanStream({ type: 'hash', count: 1_000 })) {
          if (!Array.isArray(keys)) continue;
          for (const key of keys) texts.push(...(await redis.hvals(String(key))));
        }
      } catch (error) {
        // A server that was killed keeps nothing that its successor has not.
        if (redis.status !== 'end') throw error;
      } finally {
        redis.disconnect();
      }
    }
    return texts.join('\n');
  };
}

/** All jobs of the queue in this database. */
export function postgresQueue(databaseUrl: string): ReadQueue {
  return async () => {
    const rows = await query<{ job: string }>(databaseUrl, 'select job::text as job from bullmq.job');
    return rows.map(({ job }) => job).join('\n');
  };
}

/** Everything in the spools below these directories, damaged or not. */
export async function readSpools(directories: readonly string[]): Promise<string> {
  const texts: string[] = [];
  for (const directory of directories) {
    for await (const file of glob(path.join(directory, 'spool', '**', '*'), { withFileTypes: true })) {
      if (file.isFile()) texts.push(await readFile(path.join(file.parentPath, file.name), 'latin1'));
    }
  }
  return texts.join('\n');
}
