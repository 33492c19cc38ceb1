import { setTimeout as sleep } from 'node:timers/promises';
import { DelayedError, Queue, Worker, type Job, type Processor } from 'bullmq';
import pTimeout from 'p-timeout';
import { OutageError, UsageError, toError } from '../lib/errors.ts';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { Engine, OnError } from './engine.ts';
import { checkInstallation, otherInstallation, tagJob, type InstallationMemory } from './installation.ts';
import { connectRedis, isCluster, isReady, revive, serverOf } from './redis-client.ts';
import type { RedisClient, RedisQueues } from './redis-client.ts';
import { createReplicaGuard } from './redis-replicas.ts';
import { checkRights } from './redis-rights.ts';

/** BullMQ's own, so that queues of earlier versions are found. */
const DEFAULT_PREFIX = 'bull';

/** A worker that cannot work tries again after this time, and looks as often whether the queue still belongs to it. */
const RETRY_MS = 2_000;

/** The delay of another installation's job before a worker looks at it again. */
const FOREIGN_DELAY_MS = 5_000;

/** BullMQ on Redis, behind sentinels, or on a Redis Cluster, in which each queue has its own slot. */
export function createRedisEngine({
  prefix = DEFAULT_PREFIX,
  installation,
  ...location
}: RedisQueues): Engine {
  const prefixOf = (client: RedisClient, name: string) =>
    isCluster(client) ? `{${prefix}:${name}}` : prefix;
  const open = (name: string, purpose: 'producer' | 'worker', onError: OnError) => {
    const redis = connectRedis(location, purpose);
    redis.on('error', onError);
    const queuePrefix = prefixOf(redis, name);
    const queueKey = `${queuePrefix}:${name}`;
    const guard = createReplicaGuard(serverOf(redis, queueKey));
    const check = async () => {
      await revive(redis);
      if (installation !== undefined) await checkInstallation(redis, prefix, installation);
      await guard.check();
    };
    return { redis, queuePrefix, queueKey, guard, check };
  };
  return {
    connectProducer(name, options, onError) {
      const { redis, queuePrefix, queueKey, guard, ...opened } = open(name, 'producer', onError);
      const bullmq = new Queue<DeliveryBatch>(name, { ...options, prefix: queuePrefix, connection: redis });
      let isChecked = false;
      redis.on('close', () => (isChecked = false));
      async function check(): Promise<void> {
        await opened.check();
        isChecked = true;
      }
      return {
        bullmq: {
          async waitUntilReady() {
            await bullmq.waitUntilReady().catch(async (error: unknown) => {
              // BullMQ's own error does not say how to grant a right.
              if (isReady(redis)) await checkRights(redis, queueKey);
              throw error;
            });
            await checkRights(redis, queueKey);
          },
          async add(job, data, jobOptions) {
            if (!isChecked) await check();
            const tagged = { ...data, ...tagJob(installation) };
            return guard.write(() => bullmq.add(job, tagged, jobOptions));
          },
          getJobCountByTypes: (...types) => bullmq.getJobCountByTypes(...types),
          getJobCounts: (...types) => bullmq.getJobCounts(...types),
          getJobs: (...range) => bullmq.getJobs(...range),
          on: (event, listener) =>
            bullmq.on(event, (error) => {
              // `waitUntilReady` says which right is missing.
              if (!error.message.includes('NOPERM')) listener(error);
            }),
          close: () => bullmq.close(),
        },
        ping: check,
        findOldest: async (state) => (await bullmq.getJobs([state], 0, 0, true))[0],
        weaknesses: () => findWeaknesses(redis),
        disconnect: async () => redis.disconnect(),
      };
    },
    connectWorker(name, processor, options, onError) {
      const { redis, queuePrefix, queueKey, check } = open(name, 'worker', onError);
      const closing = new AbortController();
      const starting = start();
      starting.catch(() => undefined);

      async function start(): Promise<RetryPausingWorker> {
        await untilDone(closing.signal, onError, async () => {
          await checkRights(redis, queueKey);
          await check();
        });
        const own = ownJobsOnly(processor, installation, onError);
        const worker = new RetryPausingWorker(name, own, {
          ...options,
          prefix: queuePrefix,
          connection: redis,
        });
        worker.on('error', onError);
        void watch(worker, check, closing.signal, onError);
        return worker;
      }
      return {
        bullmq: {
          getBackend: () => ({
            getCounts: async (types) => (await starting).getBackend().getCounts(types),
            retryFinishedJobs: async (state) => (await starting).getBackend().retryFinishedJobs(state),
            remove: async (...job) => (await starting).getBackend().remove(...job),
          }),
          waitUntilReady: async () => (await starting).waitUntilReady(),
          // Each worker has this listener already.
          on: () => undefined,
          async close(force) {
            closing.abort();
            const worker = await starting.catch(() => undefined);
            await worker?.close(force);
          },
        },
        isConnected: () => isReady(redis),
        disconnect: async () => redis.disconnect(),
      };
    },
  };
}

/**
 * A worker that waits after a failed attempt to fetch a job: BullMQ would try again at once, and do nothing else. It closes
 * even if the connection that waits for jobs never ends: that of a Cluster may not, soon after a failover.
 */
class RetryPausingWorker extends Worker<DeliveryBatch> {
  #endWait: (reason: Error) => void = () => undefined;

  constructor(...settings: ConstructorParameters<typeof Worker<DeliveryBatch>>) {
    super(...settings);
    const backend = this.getBackend();
    const waitForJob = backend.waitForJob.bind(backend);
    backend.waitForJob = (seconds) => {
      const { promise, reject } = Promise.withResolvers<never>();
      this.#endWait = reject;
      return Promise.race([waitForJob(seconds), promise]);
    };
  }

  override async close(force?: boolean): Promise<void> {
    const closed = super.close(force);
    // BullMQ knows by this message that nothing is wrong.
    this.#endWait(new Error('Connection is closed.'));
    return closed;
  }

  protected override async moveToActive(token: string, name?: string): Promise<Job<DeliveryBatch>> {
    try {
      return await super.moveToActive(token, name);
    } catch (error) {
      await sleep(RETRY_MS);
      throw error;
    }
  }
}

/** Repeats work until it succeeds. Rejects when `signal` ends it. */
async function untilDone(signal: AbortSignal, onError: OnError, work: () => Promise<void>): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      await pTimeout(work(), { milliseconds: Infinity, signal });
      return;
    } catch (error) {
      signal.throwIfAborted();
      onError(toError(error));
    }
    await sleep(RETRY_MS, undefined, { signal });
  }
}

/**
 * Checks the server of a worker now and then. Redis may be emptied, and another installation may use it then: the worker
 * fetches nothing until that is settled. After a failover, it also waits for jobs at the new master.
 */
async function watch(
  worker: RetryPausingWorker,
  check: () => Promise<void>,
  signal: AbortSignal,
  onError: OnError,
): Promise<void> {
  for (;;) {
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await check();
      if (worker.isPaused()) await worker.resume();
    } catch (error) {
      onError(toError(error));
      if (error instanceof UsageError && !worker.isPaused()) await worker.pause(true).catch(onError);
      const waiting = error instanceof OutageError ? await worker.getBackend().blockingClient : undefined;
      if (waiting?.status === 'ready') waiting.disconnect(true);
    }
  }
}

/** The jobs of another installation stay in the queue. */
function ownJobsOnly(
  processor: Processor<DeliveryBatch>,
  installation: InstallationMemory | undefined,
  onError: OnError,
): Processor<DeliveryBatch> {
  return async (job, token) => {
    const owner = otherInstallation(job.data, installation);
    if (owner === undefined) {
      await processor(job, token);
      return;
    }
    onError(
      new Error(
        `The queue contains batches of installation ${owner}, which this one does not store. Give each installation its own QUEUE_PREFIX, and run a worker of the other installation on this queue once.`,
      ),
    );
    await job.moveToDelayed(Date.now() + FOREIGN_DELAY_MS, token);
    throw new DelayedError();
  };
}

/** Redis documentation, "Redis persistence", "Key eviction" and "Replication". */
async function findWeaknesses(redis: RedisClient): Promise<string[]> {
  const sections = await Promise.all(
    ['persistence', 'memory', 'replication'].map((section) => redis.info(section)),
  );
  const info = sections.join('\n');
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
async function syncPolicy(redis: RedisClient): Promise<string | undefined> {
  const reply: unknown = await redis.config('GET', 'appendfsync').catch(() => undefined);
  return Array.isArray(reply) && typeof reply[1] === 'string' ? reply[1] : undefined;
}

/** Checks once who the queues belong to: see `checkInstallation`. Rejects if Redis does not answer. */
export async function checkOwner(
  { prefix = DEFAULT_PREFIX, installation, ...location }: RedisQueues,
  claims = true,
): Promise<void> {
  if (installation === undefined) return;
  const redis = connectRedis(location, 'worker');
  const { promise: failed, reject } = Promise.withResolvers<never>();
  redis.on('error', reject);
  try {
    await Promise.race([checkInstallation(redis, prefix, installation, claims), failed]);
  } finally {
    redis.disconnect();
  }
}
