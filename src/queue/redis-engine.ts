import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { Engine } from './engine.ts';

/**
 * A connection without an answer from Redis for this long is closed, well after its batch went to the spool: the client
 * would otherwise keep the abandoned commands in memory.
 */
const HANGING_TIMEOUT_MS = 6_000;

/** A worker waits for Redis for as long as it takes, but not for an answer on a dead connection. */
const WORKER_CONNECTION = {
  maxRetriesPerRequest: null,
  // The longest time without an answer. BullMQ ends the blocking command after 10 s, so it always gets one.
  socketTimeout: 15_000,
  keepAlive: 10_000,
  // A primary that became a replica keeps its connections; a new connection reaches the new primary.
  reconnectOnError: ({ message }) => (message.includes('READONLY') ? 2 : false),
} satisfies RedisOptions;

/** BullMQ on Redis. */
export function createRedisEngine(url: string): Engine {
  return {
    connectProducer(name, options, onError) {
      // A sender waits for the producer, so without a connection a command fails at once.
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
        findOldest: async (state) => (await bullmq.getJobs([state], 0, 0, true))[0],
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
      'Redis has no append-only file, so a restart loses all queued deliveries: set appendonly yes',
    );
  } else if ((await syncPolicy(redis)) !== 'always') {
    weaknesses.push(
      'Redis acknowledges before it syncs its append-only file, so a machine failure can lose about a second of deliveries: set appendfsync always',
    );
  }
  const policy = valueOf('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    weaknesses.push(
      `Redis evicts queued deliveries when its memory is full (maxmemory-policy ${policy}): set maxmemory-policy noeviction`,
    );
  }
  return weaknesses;
}

/** Undefined if CONFIG is not allowed, as in many managed services. */
async function syncPolicy(redis: Redis): Promise<string | undefined> {
  const reply: unknown = await redis.config('GET', 'appendfsync').catch(() => undefined);
  return Array.isArray(reply) && typeof reply[1] === 'string' ? reply[1] : undefined;
}
