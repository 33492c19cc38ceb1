import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { Engine } from './engine.ts';

/**
 * A connection on which Redis has not answered for so long is ended, a second after its sender was told to come back:
 * the client would keep whatever was given up, and with each attempt one batch more.
 */
const HANGING_TIMEOUT_MS = 6_000;

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
      return { bullmq, ping: () => redis.ping(), disconnect: async () => redis.disconnect() };
    },
    connectWorker(name, processor, options, onError) {
      const redis = new Redis(url, { maxRetriesPerRequest: null });
      redis.on('error', onError);
      const bullmq = new Worker<DeliveryBatch>(name, processor, { ...options, connection: redis });
      return { bullmq, ping: () => redis.ping(), disconnect: async () => redis.disconnect() };
    },
  };
}
