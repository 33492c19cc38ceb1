import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { pino } from 'pino';
import { SERVICE } from '../src/embedded/credentials.ts';
import { startEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts';
import { BatchStore } from '../src/handlers/store-batch.ts';
import { createSealer } from '../src/seal/sealer.ts';
import { newDeliveryId, type QueuedDelivery } from '../src/queue/delivery-batch.ts';
import { keepLogKey } from '../src/seal/log-key.ts';
import { openDatabase, withDatabase, type Db } from '../src/store/server/database.ts';
import { assignPositions } from '../src/store/log/extend-log.ts';
import { readInstallation } from '../src/store/server/installation.ts';
import { migrateStore } from '../src/store/server/schema/migrate.ts';
import { addMonths } from '../src/store/partitions/partitioned-tables.ts';
import { maintainPartitions } from '../src/store/partitions/partitions.ts';
import { rollUpArrivals } from '../src/store/counts/roll-up-arrivals.ts';
import { watchMemory } from './memory.ts';
import { fill, WORKLOADS } from './workloads.ts';
import { knowing } from '../test/support/trust.ts';

/*
 * What the log costs when there is much of it: events a second that get their positions and their seal after an outage of
 * both, then the time and the memory of `verify`, first with a tenth of the events, then with all, and again after their
 * month was archived. Run it on a machine that does nothing else: node bench/verify.ts [EVENTS]
 */

const EVENTS = Number(process.argv[2] ?? 1_000_000);
const RECORDS = 20;
const DELIVERIES_AT_ONCE = 100;
const STORING_AT_ONCE = 2;

/** All events are from this month, which is old enough to be archived. */
const MONTH = addMonths(new Date(), -4);
const DAYS_MS = 28 * 86_400_000;

/** How often the seal looks for more while the month is archived. */
const SEAL_MS = 1_000;

const PROGRAM = fileURLToPath(new URL('../bin/xiq-sink', import.meta.url));
const dataDir = fileURLToPath(new URL(`data/verify-${EVENTS}`, import.meta.url));

const { messageType, template } = WORKLOADS['audit-20'];
const aborted = new AbortController().signal;

async function countEvents(db: Db): Promise<number> {
  const { rows } = await sql<{ events: string }>`select count(*) as events from audit_events`.execute(db);
  return Number(rows[0]?.events);
}

/** Stores events as a worker does, up to this many in all. */
async function storeUpTo(db: Db, events: number): Promise<void> {
  const store = new BatchStore(db, pino({ level: 'silent' }), aborted, {
    erasureKeyFile: path.join(dataDir, 'erasure-key'),
  });
  let stored = await countEvents(db);
  const storeInTurns = async () => {
    while (stored < events) {
      const first = stored;
      stored += DELIVERIES_AT_ONCE * RECORDS;
      const deliveries = Array.from({ length: DELIVERIES_AT_ONCE }, (_, index) =>
        deliveryOf(first + index * RECORDS),
      );
      await store.add({ deliveries });
      if (first % 200_000 < DELIVERIES_AT_ONCE * RECORDS) console.error(`${first} of ${events} stored`);
    }
  };
  await Promise.all(Array.from({ length: STORING_AT_ONCE }, storeInTurns));
}

function deliveryOf(number: number): QueuedDelivery {
  const receivedAt = MONTH.getTime() + Math.floor((number * DAYS_MS) / EVENTS);
  const records = fill(template, number, receivedAt);
  return {
    deliveryId: newDeliveryId(receivedAt),
    source: 'default',
    messageType,
    receivedAt,
    origin: 'webhook',
    secretForm: 'bearer',
    bodyBytes: records.length,
    recordCount: RECORDS,
    records,
    unreadable: [],
  };
}

/** Seconds that the work takes. */
async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}

async function enterLog(db: Db): Promise<void> {
  while ((await assignPositions(db))?.isMore !== false);
}

async function seal(db: Db): Promise<void> {
  const key = await keepLogKey(path.join(dataDir, 'log-key'), (await readInstallation(db)).id, undefined);
  const sealer = createSealer(db, key, async () => knowing(key));
  // With nothing to wait for, it is done when it says so.
  while ((await sealer.seal()) === 'more');
  await sealer.checkpoint();
}

/** Runs a command. Returns how long it took, how much memory its largest process did, and what it printed. */
async function run(databaseUrl: string, ...given: string[]): Promise<string> {
  const child = spawn(PROGRAM, given, {
    env: { ...process.env, DATABASE_URL: databaseUrl, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  using memory = watchMemory(child.pid ?? 0);
  let peak = 0;
  const watching = setInterval(
    () =>
      void memory.peak().then(
        (mb) => (peak = mb),
        () => undefined,
      ),
    500,
  );
  const began = performance.now();
  const printed = await text(child.stdout);
  await ended;
  clearInterval(watching);
  const seconds = (performance.now() - began) / 1_000;
  return `${seconds.toFixed(1)} s, peak memory ${peak.toFixed(0)} MB, exit ${child.exitCode}: ${printed.trim()}`;
}

async function report(databaseUrl: string, events: number): Promise<void> {
  const db = openDatabase(databaseUrl, () => undefined);
  try {
    const before = await countEvents(db);
    const storing = await timed(() => storeUpTo(db, events));
    const added = (await countEvents(db)) - before;
    const rate = (seconds: number) => `${Math.round(added / seconds).toLocaleString('en')} events/s`;
    if (added > 0) {
      console.log(`${events} events: stored ${rate(storing)}`);
      console.log(`  entered the log: ${rate(await timed(() => enterLog(db)))}`);
      console.log(`  sealed: ${rate(await timed(() => seal(db)))}`);
      while ((await rollUpArrivals(db)) !== 0);
      console.log(`  sealed the deliveries: ${(await timed(() => seal(db))).toFixed(1)} s`);
      await sql`vacuum analyze audit_events`.execute(db);
    }
  } finally {
    await db.destroy();
  }
  console.log(`  verify: ${await run(databaseUrl, 'verify', '--json')}`);
}

/** The list of the files must be sealed meanwhile. */
async function archive(databaseUrl: string): Promise<string> {
  const before = addMonths(MONTH, 1).toISOString().slice(0, 7);
  const done = new AbortController();
  const archiving = run(databaseUrl, 'archive', '--before', before).finally(() => done.abort());
  await withDatabase(databaseUrl, async (db) => {
    while (!done.signal.aborted) {
      await seal(db);
      await delay(SEAL_MS, undefined, { signal: done.signal }).catch(() => undefined);
    }
  });
  return archiving;
}

await rm(dataDir, { recursive: true, force: true });
await mkdir(dataDir, { recursive: true });
const postgres = await startEmbeddedPostgres(dataDir);
try {
  await withDatabase(postgres.migrationUrl, (db) => migrateStore(db, undefined, undefined, SERVICE));
  const db = openDatabase(postgres.databaseUrl, () => undefined);
  await maintainPartitions(db, new Date(), {});
  await db.destroy();
  await report(postgres.databaseUrl, EVENTS / 10);
  await report(postgres.databaseUrl, EVENTS);
  console.log(`verify --full: ${await run(postgres.databaseUrl, 'verify', '--full', '--json')}`);
  console.log(`archive: ${await archive(postgres.databaseUrl)}`);
  console.log(`verify: ${await run(postgres.databaseUrl, 'verify', '--json')}`);
  console.log(`verify --full: ${await run(postgres.databaseUrl, 'verify', '--full', '--json')}`);
} finally {
  if (postgres.started) await postgres.stop();
}
