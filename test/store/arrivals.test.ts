import { randomUUID } from 'node:crypto';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { sql } from 'kysely';
import { FileMigrationProvider, Migrator } from 'kysely/migration';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Db } from '../../src/store/database.ts';
import { migrateStore } from '../../src/store/migrate.ts';
import { readArrivals, sumArrivals } from '../../src/store/read-arrivals.ts';
import { compactArrivals, rollUpArrivals } from '../../src/store/roll-up-arrivals.ts';
import { ALL_SOURCES } from '../../src/store/scope.ts';
import { createOwnedDatabase, createTestDatabase, emptyTables } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

let database: TestDatabase;
let db: Db;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
beforeEach(async () => {
  await emptyTables(db);
  await sql`truncate arrivals, arrival_totals`.execute(db);
});
afterAll(() => database.drop());

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

interface Given {
  readonly receivedAt: Date;
  readonly source?: string;
  readonly messageType?: string;
  readonly expected?: number;
  readonly quarantined?: number;
}

async function deliver(on: Db, { receivedAt, source, messageType, expected, quarantined }: Given) {
  await sql`
    insert into deliveries (delivery_id, received_at, body_bytes, record_count, expected_count, event_count,
      duplicate_count, quarantined_count, source, message_type, origin)
    values (gen_random_uuid(), ${receivedAt}, 100, 3, ${expected ?? 6}, 4, 1, ${quarantined ?? 1},
      ${source ?? 'a'}, ${messageType ?? 'AUDIT_LOG_ALL'}, 'webhook')`.execute(on);
}

/** What must have been counted, counted anew. */
async function recount(db: Db, source?: string) {
  const { rows } = await sql`
    select date_bin('1 hour', received_at, 'epoch') as hour, source, message_type, count(*) as deliveries,
           sum(record_count) as records, sum(expected_count) as expected, sum(event_count) as events,
           sum(duplicate_count) as duplicates, sum(quarantined_count) as quarantined, sum(body_bytes) as bytes,
           count(*) filter (where expected_count <> event_count + duplicate_count + quarantined_count) as unbalanced,
           max(received_at) as last_received_at
    from deliveries where source = coalesce(${source ?? null}, source) group by 1, 2, 3 order by 1, 2, 3`.execute(
    db,
  );
  return rows;
}

async function counted(db: Db, source?: string) {
  const { rows } = await sql`
    select date_bin('1 hour', bucket, 'epoch') as hour, source, message_type, sum(deliveries)::text as deliveries,
           sum(records)::text as records, sum(expected)::text as expected, sum(events)::text as events,
           sum(duplicates)::text as duplicates, sum(quarantined)::text as quarantined, sum(bytes)::text as bytes,
           sum(unbalanced)::text as unbalanced, max(last_received_at) as last_received_at
    from arrivals where source = coalesce(${source ?? null}, source) group by 1, 2, 3 order by 1, 2, 3`.execute(
    db,
  );
  return rows;
}

/** Everything is counted: transactions of other databases on the server may hold it up for a moment. */
async function rollUpAll(db: Db) {
  const { rows } = await sql<{ xid: string }>`select pg_current_xact_id()::text as xid`.execute(db);
  const end = BigInt(rows[0]?.xid ?? 0);
  await waitFor(async () => {
    while ((await rollUpArrivals(db))?.isBehind === true);
    const { rows } = await sql<{ xid: string }>`select next_xid::text as xid from arrivals_progress`.execute(
      db,
    );
    return BigInt(rows[0]?.xid ?? 0) >= end;
  });
}

test('arrivals are counted by minute, source and type, and in total', async () => {
  const noon = new Date(Math.floor(Date.now() / DAY) * DAY - DAY / 2);
  const later = new Date(noon.getTime() + 59_999);
  await deliver(db, { receivedAt: noon });
  await deliver(db, { receivedAt: later });
  await deliver(db, { receivedAt: new Date(noon.getTime() + MINUTE), source: 'b' });
  await deliver(db, { receivedAt: noon, messageType: 'SMS_LOG_ALL', expected: 7 });
  await rollUpAll(db);

  const range = { since: noon, until: new Date(noon.getTime() + DAY), bucketSeconds: 60 };
  const one = { deliveries: 1, records: 3, events: 4, duplicates: 1, quarantined: 1, bytes: 100 };
  const two = { deliveries: 2, records: 6, events: 8, duplicates: 2, quarantined: 2, bytes: 200 };
  const second = new Date(noon.getTime() + MINUTE);
  expect(await readArrivals(db, ALL_SOURCES, range)).toEqual([
    { bucket: noon, messageType: 'AUDIT_LOG_ALL', ...two },
    { bucket: noon, messageType: 'SMS_LOG_ALL', ...one },
    { bucket: second, messageType: 'AUDIT_LOG_ALL', ...one },
  ]);
  expect(await readArrivals(db, ALL_SOURCES, { ...range, source: 'b', bucketSeconds: 300 })).toEqual([
    { bucket: noon, messageType: 'AUDIT_LOG_ALL', ...one },
  ]);
  expect(await readArrivals(db, ALL_SOURCES, { ...range, until: noon })).toEqual([]);
  // All together they do not add up: none of the quarantined records is in quarantine.
  expect((await sumArrivals(db, ALL_SOURCES)).map(({ addsUp }) => addsUp)).toEqual([false, false, false]);
  expect(await sumArrivals(db, ALL_SOURCES, range)).toMatchObject([
    { source: 'a', messageType: 'AUDIT_LOG_ALL', deliveries: 2, addsUp: true, lastReceivedAt: later },
    { source: 'a', messageType: 'SMS_LOG_ALL', expected: 7, events: 4, unbalanced: 1, addsUp: false },
    { source: 'b', messageType: 'AUDIT_LOG_ALL', deliveries: 1, quarantined: 1, unbalanced: 0 },
  ]);
});

test('two wrongs of deliveries do not make a right in their sum', async () => {
  await deliver(db, { receivedAt: new Date(), expected: 7 });
  await deliver(db, { receivedAt: new Date(), expected: 5 });
  await rollUpAll(db);
  expect(await sumArrivals(db, ALL_SOURCES)).toMatchObject([
    { expected: 12, events: 8, unbalanced: 2, addsUp: false },
  ]);
});

test('who comes while another one counts does nothing', async () => {
  await deliver(db, { receivedAt: new Date() });
  await db.transaction().execute(async (trx) => {
    await sql`select from arrivals_progress for update`.execute(trx);
    expect(await rollUpArrivals(db)).toBeUndefined();
  });
  await rollUpAll(db);
  expect(await counted(db)).toEqual(await recount(db));
});

test('minutes older than 14 days become hours, and their sums stay', async () => {
  const now = new Date();
  for (let minute = 0; minute < 30; minute += 1) {
    await deliver(db, { receivedAt: new Date(now.getTime() - 13 * DAY - minute * 5 * MINUTE) });
  }
  await rollUpAll(db);
  const before = await counted(db);
  expect(await compactArrivals(db, now)).toBe(0);
  expect(await compactArrivals(db, new Date(now.getTime() + 2 * DAY))).toBe(30);
  expect(await compactArrivals(db, new Date(now.getTime() + 2 * DAY))).toBe(0);
  expect(await counted(db)).toEqual(before);
  const { rows } = await sql`select distinct seconds from arrivals`.execute(db);
  expect(rows).toEqual([{ seconds: 3600 }]);
});

test('an installation of before gets its old deliveries counted stretch by stretch, beside the new ones', async () => {
  const owned = await createOwnedDatabase();
  try {
    const provider = new FileMigrationProvider({ fs, path, migrationFolder: path.resolve('migrations') });
    const { error } = await new Migrator({ db: owned.db, provider }).migrateTo('0006_operator_log');
    expect(error).toBeUndefined();
    const now = Date.now();
    for (const days of [-1, 0, 0.5, 3, 20, 400]) {
      for (const source of ['a', 'b']) {
        await deliver(owned.db, { receivedAt: new Date(now - days * DAY), source });
      }
    }
    // Later migrations make the table a partition, which has the name of the default partition at first.
    const file = sql<{ file: number }>`
      select pg_relation_filenode(coalesce(to_regclass('deliveries_default'), to_regclass('deliveries'))) as file`;
    const before = await file.execute(owned.db);
    await migrateStore(owned.db);
    expect((await file.execute(owned.db)).rows).toEqual(before.rows);

    await deliver(owned.db, { receivedAt: new Date(now) });
    expect((await rollUpArrivals(owned.db))?.isBehind).toBe(true);
    await deliver(owned.db, { receivedAt: new Date(now - 20 * DAY) });
    await rollUpAll(owned.db);
    expect(await counted(owned.db)).toEqual(await recount(owned.db));
    const minutes =
      await sql`select from arrivals where seconds = 60 and bucket < now() - interval '15 days'`.execute(
        owned.db,
      );
    expect(minutes.rows).toEqual([]);
  } finally {
    await owned.drop();
  }
});

const MINUTES_AGO = fc.constantFrom(0, 1, 70, 20_000, 40_000);
const STEP = fc.oneof(
  fc.record({ kind: fc.constant('deliver' as const), writer: fc.nat(2), minutesAgo: MINUTES_AGO }),
  fc.record({ kind: fc.constantFrom('commit' as const, 'rollback' as const), writer: fc.nat(2) }),
  fc.record({ kind: fc.constantFrom('roll up' as const, 'roll up twice' as const, 'compact' as const) }),
);

test('whatever is open, commits and rolls back meanwhile, each committed delivery is counted once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 30 }), async (steps) => {
      const now = new Date();
      const source = randomUUID();
      const writers = new Map<number, Awaited<ReturnType<typeof begin>>>();
      const begin = () => db.startTransaction().execute();
      for (const step of steps) {
        switch (step.kind) {
          case 'deliver': {
            const writer = writers.get(step.writer) ?? (await begin());
            writers.set(step.writer, writer);
            await deliver(writer, { receivedAt: new Date(now.getTime() - step.minutesAgo * MINUTE), source });
            break;
          }
          case 'commit':
          case 'rollback':
            await writers.get(step.writer)?.[step.kind]().execute();
            writers.delete(step.writer);
            break;
          case 'roll up':
            await rollUpArrivals(db);
            break;
          case 'roll up twice':
            await Promise.all([rollUpArrivals(db), rollUpArrivals(db)]);
            break;
          case 'compact':
            await compactArrivals(db, now);
            break;
        }
      }
      for (const writer of writers.values()) await writer.commit().execute();
      await rollUpAll(db);
      expect(await counted(db, source)).toEqual(await recount(db, source));
      const { rows: stored } = await sql<{
        n: number;
      }>`select count(*)::int as n from deliveries where source = ${source}`.execute(db);
      const sum = (await sumArrivals(db, ALL_SOURCES)).find((sum) => sum.source === source);
      expect(sum?.deliveries ?? 0).toBe(stored[0]?.n);
    }),
    { numRuns: 25 },
  );
});
