import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { Engine } from './engine.ts';

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
      const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 1 });
      redis.on('error', onError);
      const bullmq = new Queue<DeliveryBatch>(name, { ...options, connection: redis });
      return { bullmq, ping: () => redis.ping(), disconnect: async () => redis.disconnect() };
    },
    connectWorker(name, processor, options, onError) {
      const redis = new Redis(url, WORKER_CONNECTION);
      redis.on('error', onError);
      const bullmq = new Worker<DeliveryBatch>(name, processor, { ...options, connection: redis });
      return { bullmq, ping: () => redis.ping(), disconnect: async () => redis.disconnect() };
    },
  };
}
