import { setTimeout as sleep } from 'node:timers/promises';
import { DelayedError, type Job } from 'bullmq';
import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import { z } from 'zod';
import { OutageError, toError } from '../lib/errors.ts';
import { repeat, type Repetition } from '../lib/repeat.ts';
import { createBatchLog, logOutages } from '../queue/batch-logging.ts';
import { deliverySize, type QueuedDelivery, type ReadDelivery } from '../queue/delivery-batch.ts';
import { UNOBSERVED, type DeliveryObserver } from '../queue/delivery-observer.ts';
import { engineAt } from '../queue/batch-queue.ts';
import type { Jobs, OnError, QueueLocation } from '../queue/engine.ts';
import { queueNamesOf, type Lane } from '../queue/lanes.ts';
import { readBatch } from '../queue/read-batch.ts';
import { setAsideWhole } from './delivery-to-events.ts';
import { Company } from './run-alone.ts';
import type { BatchStore } from './store-batch.ts';

/**
 * Concurrent jobs of one process, of each queue of a lane: those that wait for a transaction share the next one. Few in
 * the bulk lane, because each is large, and because a source waits for the jobs that others have begun.
 */
const CONCURRENCY = { ordinary: 16, bulk: 2 };

/**
 * What is in the hands of a process, in characters: 30,000 deliveries of one record, which are stored in 4 s at full load.
 * More could become due before.
 */
const MAX_IN_HAND = 16 * 1024 * 1024;

const WORKER_OPTIONS = {
  // The batch of a killed worker goes to another within 15 s. A running worker renews its lock every 5 s.
  lockDuration: 10_000,
  stalledInterval: 5_000,
  // A batch may move to another worker any number of times; storing it twice changes nothing.
  maxStalledCount: 2 ** 31 - 1,
  // The pause before the next attempt to fetch or finish a job after a refused connection.
  runRetryDelay: 2_000,
};

/** The delay of a job returned at shutdown, so that the closing worker does not fetch it again. */
const GIVE_BACK_DELAY_MS = 1_000;

/** The delay of a job that failed with an error that no rule covers. */
const UNFORESEEN_DELAY_MS = 5_000;

/** The delay of a job written by a newer version before a worker looks at it again. */
const NEWER_DELAY_MS = 60_000;

/**
 * BullMQ closes within milliseconds after the last job, but was once seen to wait for good, after its connection had been lost
 * and made again.
 */
const CLOSE_MS = 5_000;

/** Failed jobs are looked for at this interval. */
const SWEEP_INTERVAL_MS = 60_000;

/** A job whose worker died or stood still so often is a suspect. */
const SUSPECT_AFTER = 2;

/** What a suspect was storing, noted in the job, and how often a worker had died with it by then. */
const Attempt = z.object({ deliveryId: z.string(), deaths: z.int() });

const FATAL =
  'the process that was storing it ended or hung three times, the last time with only this delivery';

interface DeliveryWorkerOptions {
  readonly lane?: Lane;
  readonly observer?: DeliveryObserver;
  /** The work of this process on all lanes. */
  readonly company?: Company;
}

export type DeliveryWorker = ReturnType<typeof startDeliveryWorker>;

/** Processes the batches of a lane, by default of the ordinary one, until it is closed. */
export function startDeliveryWorker(
  location: QueueLocation,
  store: Pick<BatchStore, 'add'>,
  logger: Logger,
  { lane = 'ordinary', observer = UNOBSERVED, company = new Company() }: DeliveryWorkerOptions = {},
) {
  const onError: OnError = logOutages(logger, 'queue worker');
  const logBatch = createBatchLog(logger);
  const processing = new Set<Promise<void>>();
  const taken = new Set<Promise<void>>();
  let takenSize = 0;
  let isClosing = false;

  const { telemetry } = observer;
  const options = { ...WORKER_OPTIONS, concurrency: CONCURRENCY[lane], ...(telemetry && { telemetry }) };
  const engine = engineAt(location);
  const connections = new Map(
    queueNamesOf(lane, location).map((name) => [
      name,
      engine.connectWorker(name, processJob, options, onError),
    ]),
  );
  const queues = [...connections.values()].map(({ bullmq }) => bullmq);
  for (const queue of queues) queue.on('error', onError);
  const sweeps = queues.map((queue) => startFailedJobSweep(queue.getBackend(), logger, onError));
  const ready = Promise.all(queues.map((queue) => queue.waitUntilReady()));
  ready.catch(() => undefined);

  /** Resolves this many milliseconds after the last job was finished or returned. */
  async function idleFor(ms: number): Promise<void> {
    while (processing.size > 0) await Promise.allSettled(processing);
    await sleep(ms, undefined, { ref: false });
  }

  /** Stores a batch from memory and removes its job. If either fails, the job becomes due, and changes nothing that is stored. */
  async function storeTaken(name: string, id: string, deliveries: readonly QueuedDelivery[]): Promise<void> {
    try {
      await company.runBeside(() => add({ id, attemptsStarted: 1 }, deliveries));
    } catch (error) {
      if (error instanceof OutageError) return;
      logger.error({ err: error, job: id }, "can't store a batch; it will be retried");
      return;
    }
    const jobs = connections.get(name)?.bullmq.getBackend();
    const message = `job ${id} of a stored batch was not removed within ${CLOSE_MS} ms`;
    await pTimeout(Promise.resolve(jobs?.remove(id, false)), { milliseconds: CLOSE_MS, message }).catch(
      onError,
    );
  }

  async function processJob(job: Job<unknown>, token?: string): Promise<void> {
    const processed = finishJob(job, token);
    processing.add(processed);
    try {
      await processed;
    } finally {
      processing.delete(processed);
    }
  }

  async function finishJob(job: Job<unknown>, token: string | undefined): Promise<void> {
    const rest = await storeJob(job);
    // The list in which BullMQ hands jobs on keeps finished ones alive until the next full garbage collection.
    job.data = undefined;
    if (rest === undefined) return;
    await job.moveToDelayed(Date.now() + rest, token);
    throw new DelayedError();
  }

  /** Stores the batch of a job. Resolves with undefined if it is done, else with the delay until the next attempt (ms). */
  async function storeJob(job: Job<unknown>): Promise<number | undefined> {
    const { id, data, timestamp } = job;
    const read = readBatch(data, timestamp);
    if (read.kind === 'newer') {
      onError(
        new Error(`jobs of version ${read.version} need a newer version of xiq-sink: upgrade this worker`),
      );
      observer.tooNew(read.version);
      return NEWER_DELAY_MS;
    }
    const { deliveries, malformed } = read;
    if (malformed > 0) {
      logger.error({ job: id, malformed }, 'malformed deliveries in a job were quarantined');
    }
    try {
      if (job.stalledCounter < SUSPECT_AFTER) await company.runBeside(() => add(job, deliveries));
      else await company.runAlone(() => addOneByOne(job, deliveries));
      return undefined;
    } catch (error) {
      if (error instanceof OutageError) return GIVE_BACK_DELAY_MS;
      logger.error({ err: error, job: id }, "can't store a batch; it will be retried");
      return UNFORESEEN_DELAY_MS;
    }
  }

  /** A batch that is stored from memory is at its first attempt. */
  async function add(
    { id, attemptsStarted }: Pick<Job<unknown>, 'id' | 'attemptsStarted'>,
    deliveries: readonly ReadDelivery[],
  ): Promise<void> {
    const began = performance.now();
    const { deliveries: storedNow, ...outcome } = await observer.store(lane, deliveries, () =>
      store.add({ deliveries }),
    );
    const ms = Math.round(performance.now() - began);
    const storedBefore = deliveries.length - storedNow;
    logBatch({ job: id, attempt: attemptsStarted, ms, ...outcome, storedBefore }, deliveries, 'batch stored');
  }

  /** Stores the deliveries of a suspect. The one with which the last worker died is quarantined whole. */
  async function addOneByOne(job: Job<unknown>, deliveries: readonly ReadDelivery[]): Promise<void> {
    const deaths = job.stalledCounter;
    const last = Attempt.safeParse(job.progress).data;
    const fatal = last !== undefined && last.deaths < deaths ? last.deliveryId : undefined;
    logger.error({ job: job.id, deaths, fatal }, 'storing a batch separately, because its workers died');
    for (const delivery of deliveries) {
      const { deliveryId } = delivery;
      if (deliveryId === fatal) {
        await add(job, [setAsideWhole(delivery, FATAL)]);
      } else {
        await job.updateProgress({ deliveryId, deaths }).catch((cause: unknown) => {
          throw new OutageError("can't record in the queue which delivery is stored next", { cause });
        });
        await add(job, [delivery]);
      }
    }
  }

  return {
    /**
     * Resolves once it is connected. On Redis it waits for as long as that takes; on Postgres it rejects if the first
     * connection fails, and then the worker never works.
     */
    ready,
    get inHand() {
      return taken.size;
    },
    isFree: () => !isClosing && takenSize < MAX_IN_HAND,
    take(name: string, jobId: string, deliveries: readonly QueuedDelivery[]): void {
      const size = deliveries.reduce((sum, delivery) => sum + deliverySize(delivery), 0);
      takenSize += size;
      const storing = storeTaken(name, jobId, deliveries).finally(() => {
        takenSize -= size;
        taken.delete(storing);
      });
      taken.add(storing);
    },
    /** Fetches no further job, finishes the current jobs or returns them to the queue, disconnects. */
    async close(): Promise<void> {
      isClosing = true;
      for (const sweep of sweeps) void sweep.stop();
      await Promise.all(taken);
      const closing = [...connections.values()].map(async (connection) => {
        // Without a connection BullMQ would wait for one: jobs in progress go to another worker instead.
        const closed = connection.bullmq.close(!connection.isConnected());
        await Promise.race([closed, idleFor(CLOSE_MS)]);
        await connection.disconnect();
      });
      await Promise.all(closing);
    },
  };
}

/**
 * Moves the jobs that BullMQ has given up back to waiting, now and every minute: no rule here fails a job, and all of
 * them contain acknowledged deliveries.
 */
const startFailedJobSweep = (jobs: Jobs, logger: Logger, onError: OnError): Repetition =>
  repeat({
    pauseMs: SWEEP_INTERVAL_MS,
    async work() {
      const [failed = 0] = await jobs.getCounts(['failed']);
      if (failed === 0) return;
      while ((await jobs.retryFinishedJobs('failed')) !== 0);
      logger.error({ jobs: failed }, 'returned failed jobs to the queue');
    },
    onError: (error) => onError(toError(error)),
  });
