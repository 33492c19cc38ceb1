import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { Engine } from './engine.ts';

/**
 * A connection on which Redis has not answered for so long is ended, well after its batch went to the spool: the
 * client would keep whatever was given up.
 */
const HANGING_TIMEOUT_MS = 6_000;

/** A worker's connection waits for Redis as long as it takes, but not for an answer on a connection that is dead. */
const WORKER_CONNECTION = {
  maxRetriesPerRequest: null,
  // Without an answer for so long; the blocking command, which BullMQ ends after 10 s, always has one.
  socketTimeout: 15_000,
  keepAlive: 10_000,
  // A primary that became a replica keeps its connections: a new one finds the one that took over.
  reconnectOnError: ({ message }) => (message.includes('READONLY') ? 2 : false),
} satisfies RedisOptions;

/** BullMQ on Redis. */
export function createRedisEngine(url: string): Engine {
  return {
    connectProducer(name, options, onError) {
      // A producer answers a waiting sender: without a connection a command fails at once.
      const redis = new Redis(url, {
        enableOfflineQueue: false,
        maxRetriesPerRequest: 1,
        socketTimeout: HANGING_TIMEOUT_MS,
      });
      redis.on('error', onError);
      const bullmq = new Queue<DeliveryBatch>(name, { ...options, connection: redis });
      return {
        bullmq,
        isConnected: () => redis.status === 'ready',
        ping: () => redis.ping(),
        findOldest: async () => (await bullmq.getJobs(['wait'], 0, 0, true))[0],
        weaknesses: () => findWeaknesses(redis),
        disconnect: async () => redis.disconnect(),
      };
    },
    connectWorker(name, processor, options, onError) {
      const redis = new Redis(url, WORKER_CONNECTION);
      redis.on('error', onError);
      const bullmq = new Worker<DeliveryBatch>(name, processor, { ...options, connection: redis });
      return {
        bullmq,
        isConnected: () => redis.status === 'ready',
        ping: () => redis.ping(),
        disconnect: async () => redis.disconnect(),
      };
    },
  };
}

/** Redis documentation, "Redis persistence" and "Key eviction". */
async function findWeaknesses(redis: Redis): Promise<string[]> {
  const info = `${await redis.info('persistence')}\n${await redis.info('memory')}`;
  const valueOf = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const weaknesses: string[] = [];
  if (valueOf('aof_enabled') === '0') {
    weaknesses.push(
      'Redis keeps no append-only file: its restart loses what waits in the queue; set appendonly yes',
    );
  } else if ((await syncPolicy(redis)) !== 'always') {
    weaknesses.push(
      'Redis syncs its append-only file later than it answers: a failure of its machine loses about a second; set appendfsync always',
    );
  }
  const policy = valueOf('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    weaknesses.push(
      `Redis evicts queued deliveries when its memory is full (maxmemory-policy ${policy}); set maxmemory-policy noeviction`,
    );
  }
  return weaknesses;
}

/** Undefined where CONFIG is not allowed, as with many managed services. */
async function syncPolicy(redis: Redis): Promise<string | undefined> {
  const reply: unknown = await redis.config('GET', 'appendfsync').catch(() => undefined);
  return Array.isArray(reply) && typeof reply[1] === 'string' ? reply[1] : undefined;
}
