import { Queue, UnrecoverableError, Worker, createPostgresBackend, isPgPool, withBackend } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OutageError } from '../../src/errors.ts';
import { FAILURE_RULES } from '../../src/handlers/failure-rules.ts';
import type { ReadDelivery } from '../../src/queue/delivery-batch.ts';
import { openBatchQueue } from '../../src/queue/batch-queue.ts';
import { QUEUE_NAME } from '../../src/queue/lanes.ts';
import { startDeliveryWorker } from '../../src/queue/delivery-worker.ts';
import type { StoreBatch } from '../../src/queue/delivery-worker.ts';
import type { QueueLocation } from '../../src/queue/engine.ts';
import { createTestDatabase } from '../support/database.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { startProxy, through } from '../support/proxy.ts';
import { hasRedisServer, startRedis } from '../support/redis.ts';
import type { TestRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

/** A queue of one test's own, and what the test may do to it. */
interface Bench {
  readonly location: QueueLocation;
  /** BullMQ's own view, and a way to add jobs that no producer of ours would. */
  readonly queue: Pick<Queue, 'add' | 'getJobCounts' | 'getJob' | 'close'>;
  /** A worker that renews no lock, and closes without finishing anything: to the queue it is dead. */
  createDeadWorker(processor: (() => Promise<unknown>) | null): Pick<Worker, 'getNextJob' | 'run' | 'close'>;
  /** Kills and starts the server, or all connections where the server is shared. */
  restart(): Promise<void>;
  loseData(): Promise<void>;
  /** Gives the lock of all active jobs to somebody else. */
  stealLocks(): Promise<void>;
}

const DEAD = { lockDuration: 1_500, autorun: false, skipLockRenewal: true, skipStalledCheck: true };

const workers: (() => Promise<unknown>)[] = [];
const cleanUps: (() => Promise<unknown>)[] = [];
const servers: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  // What was started first ends last; those of one kind at the same time.
  await Promise.all(workers.map((close) => close()));
  await Promise.all(cleanUps.toReversed().map((cleanUp) => cleanUp()));
  await Promise.all(servers.map((stop) => stop()));
});

async function redisBench(): Promise<Bench> {
  const server: TestRedis = await startRedis();
  servers.push(() => server.stop());
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  const queue = new Queue(QUEUE_NAME, { connection: redis });
  queue.on('error', () => undefined);
  cleanUps.push(async () => redis.disconnect());
  return {
    location: { kind: 'redis', url: server.url },
    queue,
    createDeadWorker: (processor) => new Worker(QUEUE_NAME, processor, { connection: redis, ...DEAD }),
    restart: () => server.restart(true),
    loseData: () => server.restart(false),
    async stealLocks() {
      for (const id of await redis.lrange(`bull:${QUEUE_NAME}:active`, 0, -1))
        await redis.set(`bull:${QUEUE_NAME}:${id}:lock`, 'somebody else', 'PX', 500);
    },
  };
}

async function postgresBench(): Promise<Bench> {
  const database = await createTestDatabase();
  const { databaseUrl } = database;
  servers.push(() => database.drop());
  const pool = new Pool({ connectionString: databaseUrl, options: '-c search_path=bullmq', max: 2 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  cleanUps.push(() => pool.end());
  if (!isPgPool(pool)) throw new TypeError('a pool of pg is one');
  const backend = withBackend(createPostgresBackend);
  const queue = new backend.Queue(QUEUE_NAME, { connection: pool });
  queue.on('error', () => undefined);
  return {
    location: { kind: 'postgres', databaseUrl },
    queue,
    createDeadWorker: (processor) => new backend.Worker(QUEUE_NAME, processor, { connection: pool, ...DEAD }),
    async restart() {
      await pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and usename = current_user`,
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
  };
}

const NOTHING = { deliveries: 0, events: 0, duplicates: 0, quarantined: 0 };

/** A worker that keeps in memory what it was given; `logged` is what it said. */
function startWorker(
  location: QueueLocation,
  storeBatch: (...batch: Parameters<StoreBatch>) => Promise<void> = async () => undefined,
) {
  const stored: ReadDelivery[] = [];
  let log = '';
  const logger = pino({ level: 'debug' }, { write: (line: string) => void (log += line) });
  const worker = startDeliveryWorker(
    location,
    async (batch) => {
      await storeBatch(batch);
      stored.push(...batch.deliveries);
      return NOTHING;
    },
    logger,
  );
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= worker.close());
  workers.push(close);
  return { stored, close, logged: (text: string) => log.includes(text) };
}

async function enqueue({ location }: Pick<Bench, 'location'>) {
  const delivery = queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }]);
  const queue = openBatchQueue(location, pino({ level: 'silent' }));
  // The producer fails at once where it has no connection yet.
  await waitFor(() =>
    queue.check().then(
      () => true,
      () => false,
    ),
  );
  await queue.add([delivery]);
  await queue.close();
  return delivery;
}

const isEmpty = async ({ queue }: Bench) => {
  const counts = await queue.getJobCounts('active', 'wait', 'delayed', 'failed', 'completed');
  return Object.values(counts).every((count) => count === 0);
};

const STALLED_MS = 25_000;

/** A store that the test holds open. */
function createGate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  const storeBatch = async () => {
    calls += 1;
    if (calls === 1) await promise;
  };
  return { storeBatch, open: resolve, calls: () => calls };
}

/** A test for each rule of the queue, by the name of its row, on either engine. */
const TESTS: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  'malformed data': async (bench) => {
    const good = queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }]);
    const bad = { ...good, deliveryId: crypto.randomUUID(), records: 7 };
    await bench.queue.add('batch', { version: 1, deliveries: [good, bad] });
    await bench.queue.add('batch', { what: 'is this' });
    const { stored, logged } = startWorker(bench.location);
    await waitFor(() => stored.length === 3);
    expect(stored).toContainEqual(good);
    expect(stored.map(({ messageType }) => messageType).toSorted()).toEqual([
      'AUDIT_LOG_ALL',
      'AUDIT_LOG_ALL',
      'UNKNOWN',
    ]);
    expect(logged('malformed deliveries in a job are quarantined')).toBe(true);
    await waitFor(async () => (await bench.queue.getJobCounts('failed', 'wait', 'active'))['failed'] === 0);
  },

  'data of a newer version': async (bench) => {
    await bench.queue.add('batch', { version: 4, deliveries: 'of a shape to come' });
    const { stored, logged } = startWorker(bench.location);
    await waitFor(async () => (await bench.queue.getJobCounts('delayed'))['delayed'] === 1);
    expect(stored).toEqual([]);
    expect(logged('jobs of version 4 need a newer version of xiq-sink')).toBe(true);
  },

  'shut-down in an outage': async (bench) => {
    const { deliveryId } = await enqueue(bench);
    const giveUp = Promise.withResolvers<never>();
    let began = false;
    const first = startWorker(bench.location, () => {
      began = true;
      return giveUp.promise;
    });
    await waitFor(() => began);
    giveUp.reject(new OutageError('gave up waiting for the database'));
    await first.close();
    expect(await bench.queue.getJobCounts('delayed', 'failed')).toEqual({ delayed: 1, failed: 0 });
    const second = startWorker(bench.location);
    await waitFor(() => second.stored.length === 1);
    expect(second.stored[0]?.deliveryId).toBe(deliveryId);
  },

  'worker killed': async (bench) => {
    const { deliveryId } = await enqueue(bench);
    let began = false;
    const dead = bench.createDeadWorker(() => {
      began = true;
      return new Promise(() => undefined);
    });
    void dead.run();
    await waitFor(() => began);
    void dead.close(true);
    const { stored } = startWorker(bench.location);
    await waitFor(() => stored.length === 1, STALLED_MS);
    expect(stored[0]?.deliveryId).toBe(deliveryId);
    await waitFor(() => isEmpty(bench));
  },

  'job fetched and never begun': async (bench) => {
    const { deliveryId } = await enqueue(bench);
    const dead = bench.createDeadWorker(null);
    expect(await dead.getNextJob('dead')).toBeDefined();
    await dead.close(true);
    const { stored } = startWorker(bench.location);
    await waitFor(() => stored.length === 1, STALLED_MS);
    expect(stored[0]?.deliveryId).toBe(deliveryId);
    await waitFor(() => isEmpty(bench));
  },

  'lock lost': async (bench) => {
    const gate = createGate();
    await enqueue(bench);
    const { stored } = startWorker(bench.location, gate.storeBatch);
    await waitFor(() => gate.calls() === 1);
    await bench.stealLocks();
    gate.open();
    await waitFor(() => stored.length === 2, STALLED_MS);
    await waitFor(() => isEmpty(bench));
  },

  'queue restarted with its data': async (bench) => {
    const { stored } = startWorker(bench.location);
    await enqueue(bench);
    await waitFor(() => stored.length === 1);
    await bench.restart();
    await enqueue(bench);
    await waitFor(() => stored.length === 2);
    await waitFor(() => isEmpty(bench));
  },

  'queue lost its data': async (bench) => {
    const gate = createGate();
    await enqueue(bench);
    const { stored } = startWorker(bench.location, gate.storeBatch);
    await waitFor(() => gate.calls() === 1);
    await bench.loseData();
    gate.open();
    await waitFor(() => stored.length === 1);
    await enqueue(bench);
    await waitFor(() => stored.length === 2);
    await waitFor(() => isEmpty(bench));
  },

  'queue silent': async (bench) => {
    const { location } = bench;
    const server = new URL(location.kind === 'redis' ? location.url : location.databaseUrl);
    const proxy = await startProxy({ host: server.hostname, port: Number(server.port || 5432) });
    cleanUps.push(() => proxy.stop());
    const url = through(proxy, server.href);
    const { stored } = startWorker(
      location.kind === 'redis' ? { kind: 'redis', url } : { kind: 'postgres', databaseUrl: url },
    );
    await enqueue(bench);
    await waitFor(() => stored.length === 1);
    proxy.silence();
    await enqueue(bench);
    await waitFor(() => stored.length === 2, 35_000);
  },

  'job in the failed set': async (bench) => {
    const { deliveryId } = await enqueue(bench);
    const dead = bench.createDeadWorker(null);
    const job = await dead.getNextJob('dead');
    await job?.moveToFailed(new UnrecoverableError('BullMQ would have it so'), 'dead');
    await dead.close(true);
    expect(await bench.queue.getJobCounts('failed')).toEqual({ failed: 1 });
    const { stored, logged } = startWorker(bench.location);
    await waitFor(() => stored.length === 1);
    expect(stored[0]?.deliveryId).toBe(deliveryId);
    await waitFor(() => logged('returned failed jobs to the queue'));
    await waitFor(() => isEmpty(bench));
  },

  'unforeseen error': async (bench) => {
    await enqueue(bench);
    let calls = 0;
    const { stored, logged } = startWorker(bench.location, async () => {
      calls += 1;
      if (calls === 1) throw new Error('nobody foresaw this');
    });
    await waitFor(() => stored.length === 1);
    expect(logged("can't store a batch; it will be retried")).toBe(true);
    await waitFor(() => isEmpty(bench));
  },
};

/** Tested with the rules of storing, for want of a queue in it. */
const ELSEWHERE = ['database silent'];

const rules = Object.entries(FAILURE_RULES).flatMap(([name, { by }]) => (by === undefined ? [] : [name]));

it('has a test for each rule of the queue, and no other', () => {
  expect([...Object.keys(TESTS), ...ELSEWHERE].toSorted()).toEqual(rules.toSorted());
});

const ENGINES = [
  { engine: 'Redis', available: hasRedisServer(), createBench: redisBench },
  { engine: 'Postgres', available: true, createBench: postgresBench },
];

// Most of these wait for a lock to expire: they do so side by side, each with a queue of its own.
const outcomes = new Map<string, Promise<unknown>>();
beforeAll(() => {
  for (const { engine, createBench } of ENGINES.filter(({ available }) => available)) {
    for (const [name, test] of Object.entries(TESTS)) {
      const failure = createBench()
        .then(test)
        .then(
          () => undefined,
          (error: unknown) => error,
        );
      outcomes.set(`${engine}: ${name}`, failure);
    }
  }
});

describe.each(ENGINES)('what goes wrong with the queue in $engine', ({ engine, available }) => {
  it.skipIf(!available).each(Object.keys(TESTS))('follows the rule of: %s', async (name) => {
    expect(await outcomes.get(`${engine}: ${name}`)).toBeUndefined();
  });
});
