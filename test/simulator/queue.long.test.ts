import { Queue, Worker, type Job } from 'bullmq';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect, inject, it } from 'vitest';
import { queuedDelivery } from '../support/deliveries.ts';
import { toBatch } from '../../src/queue/delivery-batch.ts';
import { SimulatedQueue } from './queue.ts';

const LOCK_MS = 3_600_000;
const PREFIX = 'model';
const BATCH = toBatch([queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }])]);

/** What is asked of a queue. `claim` counts the jobs that were claimed before: of one that was not, nothing is asked. */
const claim = fc.integer({ min: 0, max: 5 });
const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const LATER_MS = LOCK_MS * 10;
const what = <const T>(name: T) => fc.constant(name);
const step = fc.oneof(
  fc.record({
    what: what('add'),
    id,
    priority: fc.constantFrom(0, 0, 1, 2),
    delay: fc.constantFrom(0, 0, 1, LATER_MS),
  }),
  { weight: 2, arbitrary: fc.record({ what: what('claim') }) },
  fc.record({ what: what('extend'), claim }),
  fc.record({ what: what('finish'), claim }),
  fc.record({ what: what('delay'), claim, ms: fc.constantFrom(1, LATER_MS) }),
  fc.record({ what: what('remove'), id }),
  fc.record({ what: what('progress'), id }),
  fc.record({ what: what('locks run out') }),
  fc.record({ what: what('check stalled') }),
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const REFUSED = 'refused';

function tryModel() {
  let ahead = 0;
  const now = () => Date.now() + ahead;
  const queue = new SimulatedQueue(now);
  const claims: { id: string; token: string }[] = [];
  const work = (step: Step, nth: number): unknown => {
    if (step.what === 'add') return queue.add(step.id, BATCH, { ...step, timestamp: now() });
    if (step.what === 'remove') return queue.remove(step.id);
    if (step.what === 'progress') return queue.setProgress(step.id, nth);
    if (step.what === 'check stalled') return queue.checkStalled();
    if (step.what === 'locks run out') return void (ahead += LOCK_MS);
    if (step.what === 'claim') {
      const job = queue.claim(String(nth), LOCK_MS);
      if (job === undefined) return 'nothing';
      claims.push({ id: job.id, token: String(nth) });
      const { id, stalledCounter, attemptsStarted, progress } = job;
      return { id, stalledCounter, attemptsStarted, progress };
    }
    const claimed = claims[step.claim];
    if (claimed === undefined) return undefined;
    if (step.what === 'extend') return queue.extend(claimed.id, claimed.token, LOCK_MS);
    if (step.what === 'finish') return queue.finish(claimed.id, claimed.token);
    return queue.delay(claimed.id, claimed.token, now() + step.ms);
  };
  return {
    try: (step: Step, nth: number) => {
      try {
        return work(step, nth);
      } catch {
        return REFUSED;
      }
    },
    count: () => queue.count(),
    /** Redis returns the stalled jobs in no order, so that the next claim of several is anyone's. */
    isOrdered: ({ what }: Step) =>
      what !== 'check stalled' ||
      queue.jobs
        .values()
        .filter(({ state, lockedUntil }) => state === 'active' && lockedUntil <= now())
        .toArray().length < 2,
  };
}

function tryBullMQ(redis: Redis, name: string) {
  const options = { connection: redis, prefix: PREFIX, skipVersionCheck: true };
  const queue = new Queue(name, options);
  const worker = new Worker(name, null, {
    ...options,
    autorun: false,
    lockDuration: LOCK_MS,
    maxStalledCount: 1e9,
  });
  const claims: { job: Job; token: string }[] = [];
  const remove = async (pattern: string) => {
    const keys = await redis.keys(`${PREFIX}:${name}:${pattern}`);
    if (keys.length > 0) await redis.del(keys);
  };
  const work = async (step: Step, nth: number): Promise<unknown> => {
    const backend = worker.getBackend();
    if (step.what === 'add') {
      const { id: jobId, priority, delay } = step;
      return void (await queue.add('batch', BATCH, { jobId, priority, delay, removeOnComplete: true }));
    }
    if (step.what === 'remove') return backend.remove(step.id, false);
    if (step.what === 'progress') return queue.updateJobProgress(step.id, nth);
    if (step.what === 'locks run out') return remove('*:lock');
    if (step.what === 'check stalled') {
      await remove('stalled-check');
      return void (await backend.moveStalledJobsToWait());
    }
    if (step.what === 'claim') {
      const job = await worker.getNextJob(String(nth), { block: false });
      if (job === undefined) return 'nothing';
      claims.push({ job, token: String(nth) });
      const { id, stalledCounter, attemptsStarted, progress } = job;
      return { id, stalledCounter, attemptsStarted, progress };
    }
    const claimed = claims[step.claim];
    if (claimed === undefined) return undefined;
    const { job, token } = claimed;
    if (step.what === 'extend') return (await backend.extendLock(job.id ?? '', token, LOCK_MS)) === 1;
    if (step.what === 'finish') return void (await job.moveToCompleted(undefined, token, false));
    return job.moveToDelayed(Date.now() + step.ms, token);
  };
  return {
    try: (step: Step, nth: number) => work(step, nth).catch(() => REFUSED),
    async count() {
      const { waiting = 0, prioritized = 0, active, delayed } = await queue.getJobCounts();
      return { wait: waiting + prioritized, active, delayed };
    },
    async close() {
      await worker.close();
      await queue.close();
    },
  };
}

/** What is due after 1 ms is due for both, or for neither. */
const nextMillisecond = async () => {
  const began = Date.now();
  while (Date.now() <= began + 1) await new Promise(setImmediate);
};

it.skipIf(inject('redisUrl') === undefined)(
  'does what BullMQ does, whatever is asked in whatever order (needs redis-server)',
  async () => {
    const redis = new Redis(inject('redisUrl') ?? '', { maxRetriesPerRequest: null });
    let history = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        history += 1;
        const model = tryModel();
        const real = tryBullMQ(redis, `history-${history}`);
        for (const [nth, each] of steps.entries()) {
          if (!model.isOrdered(each)) continue;
          await nextMillisecond();
          const expected = await real.try(each, nth);
          expect({ nth, each, answer: model.try(each, nth), ...model.count() }).toEqual({
            nth,
            each,
            answer: expected,
            ...(await real.count()),
          });
        }
        await real.close();
      }),
      { numRuns: 100 },
    );
    redis.disconnect();
  },
);
