import { randomUUID } from 'node:crypto';
import { Queue, UnrecoverableError, Worker, createPostgresBackend, isPgPool, withBackend } from 'bullmq';
import { Redis } from 'ioredis';
import pTimeout from 'p-timeout';
import { Pool } from 'pg';
import { pino } from 'pino';
import { describe, expect, inject, it } from 'vitest';
import type { TestContext } from 'vitest';
import { startDeliveryWorker } from '../../src/handlers/delivery-worker.ts';
import { OutageError } from '../../src/lib/errors.ts';
import { inspectQueue, openBatchQueue, type BatchQueue } from '../../src/queue/batch-queue.ts';
import type { ReadDelivery } from '../../src/queue/delivery-batch.ts';
import type { DeliveryQueue } from '../../src/queue/delivery-queue.ts';
import type { QueueLocation } from '../../src/queue/engine.ts';
import { InstallationMemory } from '../../src/queue/installation.ts';
import { IN_HAND_MS } from '../../src/queue/near-worker.ts';
import { QUEUE_NAME } from '../../src/queue/lanes.ts';
import { createTestDatabase } from '../support/database.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { openQueue as openSpoolingQueue } from '../support/open-queue.ts';
import { startProxy, through } from '../support/proxy.ts';
import { startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

/** The queue of one test, and what the test may do to it. */
interface Bench {
  readonly location: QueueLocation;
  readonly onTestFinished: TestContext['onTestFinished'];
  /** The queue without this program: to add jobs that no producer of ours would, and to count them. */
  readonly queue: Pick<Queue, 'add' | 'getJobCounts'>;
  /** A worker that renews no lock, and closes without finishing anything: to the queue it is dead. */
  createDeadWorker(processor: (() => Promise<unknown>) | null): Pick<Worker, 'getNextJob' | 'run' | 'close'>;
  /** Kills and starts the server, or ends all connections where the server is shared. */
  restart(): Promise<void>;
  loseData(): Promise<void>;
  /** Gives the lock of all active jobs to somebody else. */
  stealLocks(): Promise<void>;
  /** Has so many workers die with a job that waits. */
  killWorkers(jobId: string, times: number): Promise<void>;
  /** How many of the added jobs a crash of the server at this moment would leave. */
  countDurable(): Promise<number>;
  /** Adds a job of another installation on the same server. Resolves with the count of its unfinished jobs. */
  addForeign(): Promise<() => Promise<number>>;
}

const DEAD = { lockDuration: 1_500, autorun: false, skipLockRenewal: true, skipStalledCheck: true };

const unfinished = async (queue: Bench['queue']) => {
  const counts = await queue.getJobCounts('active', 'wait', 'delayed', 'failed', 'completed');
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
};

async function redisBench({ onTestFinished }: TestContext): Promise<Bench> {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  onTestFinished(() => redis.disconnect());
  const queue = new Queue(QUEUE_NAME, { connection: redis });
  queue.on('error', () => undefined);
  const installation = new InstallationMemory(undefined, true);
  installation.set({ id: randomUUID(), system: null, database: 'test' }, 'database');
  return {
    onTestFinished,
    location: { kind: 'redis', url: server.url, installation },
    queue,
    createDeadWorker: (processor) => new Worker(QUEUE_NAME, processor, { connection: redis, ...DEAD }),
    restart: () => server.restart(true),
    loseData: () => server.restart(false),
    async stealLocks() {
      for (const id of await redis.lrange(`bull:${QUEUE_NAME}:active`, 0, -1))
        await redis.set(`bull:${QUEUE_NAME}:${id}:lock`, 'somebody else', 'PX', 500);
    },
    async killWorkers(jobId, times) {
      await redis.hset(`bull:${QUEUE_NAME}:${jobId}`, 'stc', times);
    },
    async countDurable() {
      await server.restart(true);
      return unfinished(queue);
    },
    async addForeign() {
      const deliveries = [queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }])];
      await queue.add('batch', { version: 1, deliveries, installation: randomUUID() });
      return async () => (await queue.getJobCounts('delayed'))['delayed'] ?? 0;
    },
  };
}

async function postgresBench(context: TestContext): Promise<Bench> {
  const { onTestFinished } = context;
  const database = await createTestDatabase();
  const { databaseUrl, adminUrl } = database;
  onTestFinished(() => database.drop());
  const pool = new Pool({ connectionString: adminUrl, options: '-c search_path=bullmq', max: 2 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  onTestFinished(() => pool.end());
  if (!isPgPool(pool)) throw new TypeError('a pool of pg is one');
  const backend = withBackend(createPostgresBackend);
  const queue = new backend.Queue(QUEUE_NAME, { connection: pool });
  queue.on('error', () => undefined);
  // The server is shared with other tests: instead of a crash, a trigger records which commits wait for the disk.
  await pool.query(`
    create table public.commits (how text);
    grant insert on public.commits to public;
    create function public.record_commit() returns trigger language plpgsql as $$
    begin
      insert into public.commits values (current_setting('synchronous_commit'));
      return null;
    end $$;
    create trigger record_commit after insert on job for each row execute function public.record_commit()`);
  return {
    onTestFinished,
    location: { kind: 'postgres', databaseUrl },
    queue,
    createDeadWorker: (processor) => new backend.Worker(QUEUE_NAME, processor, { connection: pool, ...DEAD }),
    async restart() {
      await pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'xiq-sink queue'`,
      );
    },
    async loseData() {
      await pool.query('delete from job');
    },
    async stealLocks() {
      await pool.query(
        `update job set lock_token = 'somebody else', locked_until_ms = extract(epoch from now()) * 1000 + 500
         where state = 'active'`,
      );
    },
    async killWorkers(jobId, times) {
      await pool.query('update job set stalled_count = $2 where id = $1', [jobId, times]);
    },
    async countDurable() {
      const { rowCount } = await pool.query("select from public.commits where how = 'on'");
      return rowCount ?? 0;
    },
    async addForeign() {
      const other = await postgresBench(context);
      await enqueue(other);
      return () => unfinished(other.queue);
    },
  };
}

const silent = pino({ level: 'silent' });

/** A producer that is connected. The batches of the source `noisy` come after the others. */
async function openQueue({ onTestFinished, location }: Bench): Promise<BatchQueue> {
  const queue = openBatchQueue(location, silent, { rankOf: (source) => (source === 'noisy' ? 1 : 0) });
  onTestFinished(() => queue.close());
  // The producer fails at once where it has no connection yet.
  await waitFor(() =>
    queue.check().then(
      () => true,
      () => false,
    ),
  );
  return queue;
}

/** The ordinary lane, once it is connected. */
async function openLane({ onTestFinished, location }: Bench): Promise<DeliveryQueue> {
  const { queue, close } = await openSpoolingQueue(location);
  onTestFinished(close);
  await waitFor(() =>
    queue.measure().then(
      () => queue.state().works,
      () => false,
    ),
  );
  return queue;
}

const newDelivery = () => queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }]);

/** Adds a batch of one delivery, and resolves with the id of the delivery. */
async function enqueue({ location }: Pick<Bench, 'location'>): Promise<string> {
  const delivery = newDelivery();
  const queue = openBatchQueue(location, silent);
  await waitFor(() =>
    queue.add([delivery]).then(
      () => true,
      () => false,
    ),
  );
  await queue.close();
  return delivery.deliveryId;
}

/** A worker that keeps in memory what it was given, once `storeBatch` lets it. `logged` is what it said. */
function startWorker(
  { onTestFinished, location }: Bench,
  storeBatch: () => Promise<void> = async () => undefined,
) {
  const stored: ReadDelivery[] = [];
  let log = '';
  const logger = pino({ level: 'debug' }, { write: (line: string) => void (log += line) });
  const add = async ({ deliveries }: { readonly deliveries: readonly ReadDelivery[] }) => {
    await storeBatch();
    stored.push(...deliveries);
    return { deliveries: deliveries.length, events: 0, duplicates: 0, quarantined: 0 };
  };
  const worker = startDeliveryWorker(location, { add }, logger);
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= worker.close());
  onTestFinished(close);
  return {
    worker,
    stored,
    storedIds: () => stored.map(({ deliveryId }) => deliveryId),
    close,
    logged: (text: string) => log.includes(text),
  };
}

/** A store that holds its first batch until the test opens it. */
function createGate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  const storeBatch = async () => {
    calls += 1;
    if (calls === 1) await promise;
  };
  return { storeBatch, open: resolve, calls: () => calls };
}

/** A lock has expired by then, and another worker has looked for such. */
const STALLED_MS = 25_000;

const isEmpty = async ({ queue }: Bench) => (await unfinished(queue)) === 0;

/** A job that is in hand while something happens is stored, and so is one after it. */
async function expectWorkThrough(bench: Bench, happen: () => Promise<unknown>): Promise<void> {
  const gate = createGate();
  await enqueue(bench);
  const { stored } = startWorker(bench, gate.storeBatch);
  await waitFor(() => gate.calls() === 1);
  await happen();
  gate.open();
  await waitFor(() => stored.length === 1);
  await enqueue(bench);
  await waitFor(() => stored.length === 2);
  await waitFor(() => isEmpty(bench));
}

/** Another worker stores the delivery of the job that a dead one has left. */
async function expectTakenOver(bench: Bench, id: string): Promise<void> {
  const { storedIds } = startWorker(bench);
  await waitFor(() => storedIds().length === 1, STALLED_MS);
  expect(storedIds()).toEqual([id]);
  await waitFor(() => isEmpty(bench));
}

/** The same queue behind a proxy that can go silent. */
async function throughProxy(bench: Bench) {
  const { location } = bench;
  const server = new URL(location.kind === 'redis' ? location.url : location.databaseUrl);
  const proxy = await startProxy({ host: server.hostname, port: Number(server.port || 5432) });
  bench.onTestFinished(() => proxy.stop());
  const url = through(proxy, server.href);
  const behind = location.kind === 'redis' ? { ...location, url } : { ...location, databaseUrl: url };
  return { proxy, near: { ...bench, location: behind } };
}

type Behaviour = (bench: Bench) => Promise<void>;

/** How an engine and its worker behave, whichever it is. Those that wait longest begin first. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  'a delivery with which a third worker died alone is quarantined, and no other': async (bench) => {
    const queue = await openQueue(bench);
    const deliveries = [newDelivery(), newDelivery(), newDelivery()];
    const id = await queue.add(deliveries);
    await bench.killWorkers(id, 2);
    const first = startWorker(bench, async () => {
      if (first.stored.length === 1) throw new Error('the process would end here');
    });
    await waitFor(() => first.logged('the process would end here'));
    await first.close();
    await bench.killWorkers(id, 3);
    const { stored } = startWorker(bench);
    await waitFor(() => isEmpty(bench), STALLED_MS);
    expect(stored.map(({ records, unreadable }) => [records, unreadable.length])).toEqual([
      ['[{"id":1}]', 0],
      ['[]', 1],
      ['[{"id":1}]', 0],
    ]);
    const [part] = stored[1]?.unreadable ?? [];
    expect(part?.reason).toContain('three times');
    expect(Buffer.from(part?.content ?? '', 'base64').toString()).toBe(deliveries[1]?.records);
  },

  'a connection that is lost while a job is in hand is made again, and work goes on': (bench) =>
    expectWorkThrough(bench, () => bench.restart()),

  'a batch is durable before it is acknowledged': async (bench) => {
    const queue = await openQueue(bench);
    await queue.add([newDelivery()]);
    expect(await bench.countDurable()).toBe(1);
  },

  'a batch that is sent again while it waits is queued once': async (bench) => {
    const queue = await openQueue(bench);
    const batch = [newDelivery(), newDelivery()];
    expect(await queue.add(batch)).toBe(await queue.add(batch));
    expect(await queue.measure()).toMatchObject({ waiting: 1 });
  },

  'batches are fetched in the order in which they were added': async (bench) => {
    const queue = await openQueue(bench);
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push(await queue.add([newDelivery()]));
    // A worker of ours fetches several at a time.
    const worker = bench.createDeadWorker(null);
    const fetched: (string | undefined)[] = [];
    for (let count = 0; count < 5; count += 1) fetched.push((await worker.getNextJob('dead'))?.id);
    await worker.close(true);
    expect(fetched).toEqual(ids);
  },

  'jobs are counted by state, and the oldest that waits is known': async (bench) => {
    const queue = await openQueue(bench);
    const none = { waiting: 0, active: 0, delayed: 0, failed: 0, oldestWaitingSeconds: undefined };
    expect(await queue.measure()).toEqual(none);
    const before = Date.now();
    await queue.add([newDelivery()]);
    const added = Date.now();
    await waitFor(() => Date.now() - added > 300);
    await queue.add([{ ...newDelivery(), source: 'noisy' }]);
    const { waiting, oldestWaitingSeconds } = await queue.measure();
    expect(waiting).toBe(2);
    expect(oldestWaitingSeconds).toBeGreaterThanOrEqual(0.3);
    expect(oldestWaitingSeconds).toBeLessThanOrEqual((Date.now() - before) / 1_000);
    expect(await queue.countJobs()).toBe(2);
    expect(await inspectQueue(bench.location)).toMatchObject({ waiting: 2 });

    const { promise, resolve } = Promise.withResolvers<void>();
    startWorker(bench, () => promise);
    await waitFor(async () => (await queue.measure()).active === 2);
    expect(await queue.measure()).toEqual({ ...none, active: 2 });
    resolve();
    await waitFor(async () => (await queue.countJobs()) === 0);
  },

  'a job that a process has left in hand waits since it was added': async (bench) => {
    const data = { version: 1, deliveries: [newDelivery()] };
    const timestamp = Date.now() - 2 * IN_HAND_MS;
    await bench.queue.add('batch', data, { timestamp, delay: 10 * IN_HAND_MS });
    const { oldestWaitingSeconds, ...measure } = await inspectQueue(bench.location);
    expect(measure).toMatchObject({ waiting: 1, active: 0, delayed: 0 });
    expect(oldestWaitingSeconds).toBeCloseTo((2 * IN_HAND_MS) / 1_000, -1);
  },

  'what is malformed in a job is handed over to be quarantined, and the rest stored': async (bench) => {
    const good = newDelivery();
    const bad = { ...good, deliveryId: randomUUID(), records: 7 };
    const options = { removeOnComplete: true };
    await bench.queue.add('batch', { version: 1, deliveries: [good, bad] }, options);
    await bench.queue.add('batch', { what: 'is this' }, options);
    const { stored } = startWorker(bench);
    await waitFor(() => stored.length === 3);
    expect(stored).toContainEqual(good);
    const types = stored.map(({ messageType }) => messageType);
    expect(types.toSorted()).toEqual(['AUDIT_LOG_ALL', 'AUDIT_LOG_ALL', 'UNKNOWN']);
    await waitFor(() => isEmpty(bench));
  },

  'a job of a newer version waits for a newer worker': async (bench) => {
    await bench.queue.add('batch', { version: 4, deliveries: 'of a shape to come' });
    const { stored, logged } = startWorker(bench);
    await waitFor(async () => (await bench.queue.getJobCounts('delayed'))['delayed'] === 1);
    expect(stored).toEqual([]);
    expect(logged('jobs of version 4 need a newer version of xiq-sink')).toBe(true);
  },

  'a job of another installation is left to it': async (bench) => {
    const own = await enqueue(bench);
    const countForeign = await bench.addForeign();
    const { storedIds } = startWorker(bench);
    await waitFor(async () => storedIds().length > 0 && (await countForeign()) === 1);
    expect(storedIds()).toEqual([own]);
  },

  'after an outage of the database a job comes back after a pause, to this worker or another': async (
    bench,
  ) => {
    const id = await enqueue(bench);
    const triedAt: number[] = [];
    const first = startWorker(bench, async () => {
      triedAt.push(performance.now());
      if (triedAt.length < 2) throw new OutageError('the database is away');
      // It waits for this job.
      void first.close();
      throw new OutageError('the database is still away');
    });
    await waitFor(() => triedAt.length === 2);
    expect((triedAt[1] ?? 0) - (triedAt[0] ?? 0)).toBeGreaterThan(900);
    await waitFor(async () => (await bench.queue.getJobCounts('delayed'))['delayed'] === 1);
    const second = startWorker(bench);
    await waitFor(() => second.stored.length === 1);
    expect(second.storedIds()).toEqual([id]);
    await waitFor(() => isEmpty(bench));
  },

  'a worker that closes finishes the job in hand, and begins no other': async (bench) => {
    const gate = createGate();
    const id = await enqueue(bench);
    const { storedIds, close } = startWorker(bench, gate.storeBatch);
    await waitFor(() => gate.calls() === 1);
    let isClosed = false;
    const closing = close().then(() => (isClosed = true));
    await enqueue(bench);
    expect(isClosed).toBe(false);
    gate.open();
    await closing;
    expect(storedIds()).toEqual([id]);
    expect(await bench.queue.getJobCounts('active', 'wait')).toEqual({ active: 0, wait: 1 });
  },

  'a job in hand is stored although the queue has lost it, and work goes on': (bench) =>
    expectWorkThrough(bench, () => bench.loseData()),

  'a job whose workers died twice is stored alone, delivery by delivery': async (bench) => {
    const queue = await openQueue(bench);
    const ids = [await queue.add([newDelivery()]), await queue.add([newDelivery(), newDelivery()])];
    await bench.killWorkers(ids[1] ?? '', 2);
    const gate = createGate();
    const { stored, storedIds } = startWorker(bench, gate.storeBatch);
    await waitFor(async () => gate.calls() > 0 && (await queue.measure()).active === 2);
    // The other one is not stored yet.
    expect([gate.calls(), stored.length]).toEqual([1, 0]);
    gate.open();
    await waitFor(() => isEmpty(bench));
    expect([gate.calls(), storedIds().length]).toEqual([3, 3]);
  },

  'a queue that loses a job while it is stored alone is out of order, and the batch has no defect': async (
    bench,
  ) => {
    const queue = await openQueue(bench);
    const id = await queue.add([newDelivery(), newDelivery()]);
    await bench.killWorkers(id, 2);
    const { stored, close, logged } = startWorker(bench, () => bench.loseData());
    await waitFor(() => stored.length === 1);
    await close();
    expect(stored).toHaveLength(1);
    expect(logged("can't store a batch")).toBe(false);
  },

  'what a process accepts, its own worker stores from memory, and then removes the job': async (bench) => {
    const gate = createGate();
    const { worker, stored, close } = startWorker(bench, gate.storeBatch);
    const queue = await openLane(bench);
    queue.handTo(worker);
    const delivery = newDelivery();
    expect(await queue.enqueue(delivery)).toBe('queued');
    expect(gate.calls()).toBe(1);
    expect(await bench.queue.getJobCounts('wait', 'active', 'delayed')).toEqual({
      wait: 0,
      active: 0,
      delayed: 1,
    });
    // Nobody looking at it takes it for the job of a failed attempt.
    expect(await queue.measure()).toMatchObject({ active: 1, delayed: 0 });
    expect(await inspectQueue(bench.location)).toMatchObject({ delayed: 0 });
    const closing = close();
    expect(worker.isFree()).toBe(false);
    gate.open();
    await closing;
    expect(stored).toEqual([delivery]);
    expect(await isEmpty(bench)).toBe(true);
  },

  'a batch that the process could not store from memory is stored when its job is due': async (bench) => {
    const queue = await openQueue(bench);
    const failures = [new OutageError('the database is away'), new Error('something unforeseen')];
    const { worker, storedIds } = startWorker(bench, async () => {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
    });
    const deliveries = [newDelivery(), newDelivery()];
    for (const delivery of deliveries) {
      worker.take(QUEUE_NAME, await queue.add([delivery], QUEUE_NAME, 300), [delivery]);
    }
    await waitFor(() => isEmpty(bench));
    expect(storedIds().toSorted()).toEqual(deliveries.map(({ deliveryId }) => deliveryId).toSorted());
  },

  'a worker with as much in hand as it may have leaves the rest to the queue': async (bench) => {
    const gate = createGate();
    const { worker, stored } = startWorker(bench, gate.storeBatch);
    const queue = await openLane(bench);
    queue.handTo(worker);
    const large = queuedDelivery('AUDIT_LOG_ALL', [{ description: 'x'.repeat(16 * 1024 * 1024) }]);
    worker.take(QUEUE_NAME, 'its job', [large]);
    expect(worker.isFree()).toBe(false);
    await queue.enqueue(newDelivery());
    await waitFor(() => stored.length === 1);
    gate.open();
    await waitFor(() => worker.isFree());
    expect([stored.length, worker.inHand]).toEqual([2, 0]);
  },

  'a job that BullMQ has given up comes back': async (bench) => {
    const id = await enqueue(bench);
    const dead = bench.createDeadWorker(null);
    const job = await dead.getNextJob('dead');
    await job?.moveToFailed(new UnrecoverableError('BullMQ would have it so'), 'dead');
    await dead.close(true);
    expect(await bench.queue.getJobCounts('failed')).toEqual({ failed: 1 });
    const { storedIds, logged } = startWorker(bench);
    await waitFor(() => storedIds().length === 1);
    expect(storedIds()).toEqual([id]);
    await waitFor(() => logged('returned failed jobs to the queue'));
    await waitFor(() => isEmpty(bench));
  },
};

/** The same, of behaviours that take seconds: a lock must expire, a retry be due, or an answer be given up. */
const SLOW_BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  'the job of a killed worker goes to another': async (bench) => {
    const id = await enqueue(bench);
    let began = false;
    const dead = bench.createDeadWorker(() => {
      began = true;
      return new Promise(() => undefined);
    });
    void dead.run();
    await waitFor(() => began);
    void dead.close(true);
    await expectTakenOver(bench, id);
  },

  'a job that was fetched and never begun goes to another worker': async (bench) => {
    const id = await enqueue(bench);
    const dead = bench.createDeadWorker(null);
    expect(await dead.getNextJob('dead')).toBeDefined();
    await dead.close(true);
    await expectTakenOver(bench, id);
  },

  'a job whose lock was lost is taken again, and leaves the queue': async (bench) => {
    const gate = createGate();
    await enqueue(bench);
    const { stored } = startWorker(bench, gate.storeBatch);
    await waitFor(() => gate.calls() === 1);
    await bench.stealLocks();
    gate.open();
    await waitFor(() => stored.length === 2, STALLED_MS);
    await waitFor(() => isEmpty(bench));
  },

  'an error that no rule covers is tried again after a pause': async (bench) => {
    await enqueue(bench);
    const triedAt: number[] = [];
    const { stored, logged } = startWorker(bench, async () => {
      triedAt.push(performance.now());
      if (triedAt.length === 1) throw new Error('nobody foresaw this');
    });
    await waitFor(() => stored.length === 1);
    expect((triedAt[1] ?? 0) - (triedAt[0] ?? 0)).toBeGreaterThan(4_900);
    expect(logged('nobody foresaw this')).toBe(true);
    await waitFor(() => isEmpty(bench));
  },

  'connections that go silent are given up, and work goes on by new ones': async (bench) => {
    const { proxy, near } = await throughProxy(bench);
    const { stored } = startWorker(near);
    await enqueue(bench);
    await waitFor(() => stored.length === 1);
    proxy.silence();
    await enqueue(bench);
    await waitFor(() => stored.length === 2, 35_000);
  },

  'a worker whose connections have gone silent closes': async (bench) => {
    const { proxy, near } = await throughProxy(bench);
    const { stored, close } = startWorker(near);
    await enqueue(bench);
    await waitFor(() => stored.length === 1);
    proxy.stall();
    await pTimeout(close(), { milliseconds: 10_000, message: 'the worker has not closed' });
  },
};

const ENGINES = [
  { engine: 'Redis', createBench: redisBench },
  { engine: 'Postgres', createBench: postgresBench },
].filter(({ engine }) => engine !== 'Redis' || inject('redisUrl') !== undefined);

/** `npm run test:suite long` runs the slow ones, too. */
const isLong = process.env['LONG_TESTS'] !== undefined;
const behaviours = Object.entries(isLong ? { ...BEHAVIOURS, ...SLOW_BEHAVIOURS } : BEHAVIOURS);

describe.concurrent.each(ENGINES)('the queue in $engine', ({ createBench }) => {
  it.for(behaviours)('%s', async ([, behaviour], context) => {
    await expect(behaviour(await createBench(context))).resolves.toBeUndefined();
  });
});
