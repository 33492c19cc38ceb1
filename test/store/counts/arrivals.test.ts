import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { sql } from 'kysely';
import { beforeEach, expect, test } from 'vitest';
import type { Db } from '../../../src/store/server/database.ts';
import {
  isCatchingUp,
  readArrivalHours,
  readArrivals,
  readLastArrivals,
  recentArrivals,
  sumArrivals,
} from '../../../src/store/counts/read-arrivals.ts';
import { compactArrivals, rollUpArrivals } from '../../../src/store/counts/roll-up-arrivals.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { emptyTables } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useDatabase } from '../../support/use-database.ts';
import { runs } from '../../support/runs.ts';

const database = useDatabase();
beforeEach(async () => {
  await emptyTables(database.db);
  await database.query`truncate arrivals, arrival_totals`;
});

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

interface Given {
  readonly receivedAt: Date;
  readonly source?: string;
  readonly messageType?: string;
  readonly expected?: number;
  readonly origin?: 'webhook' | 'backfill';
}

async function deliver(on: Db, { receivedAt, source, messageType, expected, origin }: Given) {
  await sql`
    insert into deliveries (delivery_id, received_at, body_bytes, record_count, expected_count, event_count,
      duplicate_count, quarantined_count, source, message_type, origin)
    values (gen_random_uuid(), ${receivedAt}, 100, 3, ${expected ?? 6}, 4, 1, 1,
      ${source ?? 'a'}, ${messageType ?? 'AUDIT_LOG_ALL'}, ${origin ?? 'webhook'})`.execute(on);
}

/** What must have been counted, counted anew. */
async function recount(source?: string) {
  const rows = await database.query`
    select date_bin('1 hour', received_at, 'epoch') as hour, source, message_type, count(*) as deliveries,
           sum(record_count) as records, sum(expected_count) as expected, sum(event_count) as events,
           sum(duplicate_count) as duplicates, sum(quarantined_count) as quarantined, sum(body_bytes) as bytes,
           count(*) filter (where expected_count <> event_count + duplicate_count + quarantined_count) as unbalanced,
           max(received_at) as last_received_at
    from deliveries where source = coalesce(${source ?? null}, source) group by 1, 2, 3 order by 1, 2, 3`;
  return rows;
}

async function counted(source?: string) {
  const rows = await database.query`
    select date_bin('1 hour', bucket, 'epoch') as hour, source, message_type, sum(deliveries)::text as deliveries,
           sum(records)::text as records, sum(expected)::text as expected, sum(events)::text as events,
           sum(duplicates)::text as duplicates, sum(quarantined)::text as quarantined, sum(bytes)::text as bytes,
           sum(unbalanced)::text as unbalanced, max(last_received_at) as last_received_at
    from arrivals where source = coalesce(${source ?? null}, source) group by 1, 2, 3 order by 1, 2, 3`;
  return rows;
}

/** Everything is counted: transactions of other databases on the server may hold it up for a moment. */
async function rollUpAll() {
  const rows = await database.query<{ xid: string }>`select pg_current_xact_id()::text as xid`;
  const end = BigInt(rows[0]?.xid ?? 0);
  await waitFor(async () => {
    await rollUpArrivals(database.db);
    const rows = await database.query<{ xid: string }>`select next_xid::text as xid from arrivals_progress`;
    return BigInt(rows[0]?.xid ?? 0) >= end;
  });
}

test('arrivals are counted by minute, source and type, and in total', async () => {
  const noon = new Date(Math.floor(Date.now() / DAY) * DAY - DAY / 2);
  const later = new Date(noon.getTime() + 59_999);
  await deliver(database.db, { receivedAt: noon });
  await deliver(database.db, { receivedAt: later });
  await deliver(database.db, { receivedAt: new Date(noon.getTime() + MINUTE), source: 'b' });
  await deliver(database.db, { receivedAt: noon, messageType: 'SMS_LOG_ALL', expected: 7 });
  await rollUpAll();

  const range = { since: noon, until: new Date(noon.getTime() + DAY), bucketSeconds: 60 };
  const one = { deliveries: 1, records: 3, events: 4, duplicates: 1, quarantined: 1, bytes: 100 };
  const two = { deliveries: 2, records: 6, events: 8, duplicates: 2, quarantined: 2, bytes: 200 };
  const second = new Date(noon.getTime() + MINUTE);
  expect(await readArrivals(database.db, ALL_SOURCES, range)).toEqual([
    { bucket: noon, messageType: 'AUDIT_LOG_ALL', ...two },
    { bucket: noon, messageType: 'SMS_LOG_ALL', ...one },
    { bucket: second, messageType: 'AUDIT_LOG_ALL', ...one },
  ]);
  expect(await readArrivals(database.db, ['b'], { ...range, bucketSeconds: 300 })).toEqual([
    { bucket: noon, messageType: 'AUDIT_LOG_ALL', ...one },
  ]);
  expect(await readArrivals(database.db, ALL_SOURCES, { ...range, until: noon })).toEqual([]);
  // All together they do not add up: none of the quarantined records is in quarantine.
  expect((await sumArrivals(database.db, ALL_SOURCES)).map(({ addsUp }) => addsUp)).toEqual([
    false,
    false,
    false,
  ]);
  expect(await sumArrivals(database.db, ALL_SOURCES, range)).toMatchObject([
    { source: 'a', messageType: 'AUDIT_LOG_ALL', deliveries: 2, addsUp: true, lastReceivedAt: later },
    { source: 'a', messageType: 'SMS_LOG_ALL', expected: 7, events: 4, unbalanced: 1, addsUp: false },
    { source: 'b', messageType: 'AUDIT_LOG_ALL', deliveries: 1, quarantined: 1, unbalanced: 0 },
  ]);
});

test('what arrived last, in each hour, and before the longest gap is known of each source and type', async () => {
  const start = Math.floor(Date.now() / DAY) * DAY - DAY / 2;
  const at = (minutes: number) => new Date(start + minutes * MINUTE);
  for (const minutes of [0, 1, 40, 130]) await deliver(database.db, { receivedAt: at(minutes) });
  await deliver(database.db, { receivedAt: at(7), source: 'b', messageType: 'SMS_LOG_ALL' });
  await deliver(database.db, { receivedAt: at(200), origin: 'backfill' });
  await rollUpAll();
  const audit = { source: 'a', messageType: 'AUDIT_LOG_ALL' };
  const gap = (from: number, to: number) => ({
    from: start + from * MINUTE + MINUTE / 2,
    to: start + to * MINUTE + MINUTE / 2,
  });
  expect(await readArrivalHours(database.db, ALL_SOURCES, at(0))).toEqual([
    { ...audit, start, deliveries: 3, longestGap: gap(40, 130) },
    { ...audit, start: start + 120 * MINUTE, deliveries: 1, longestGap: gap(130, 200) },
    { ...audit, start: start + 180 * MINUTE, deliveries: 1, longestGap: undefined },
    { source: 'b', messageType: 'SMS_LOG_ALL', start, deliveries: 1, longestGap: undefined },
  ]);
  const ofA = await readArrivalHours(database.db, ['a'], at(60));
  expect(ofA.map((hour) => hour.start)).toEqual([start + 120 * MINUTE, start + 180 * MINUTE]);

  // Since the last roll-up.
  await deliver(database.db, { receivedAt: at(300) });
  await deliver(database.db, { receivedAt: at(400), origin: 'backfill' });
  expect(await readLastArrivals(database.db, ALL_SOURCES)).toEqual([
    { ...audit, lastReceivedAt: at(300) },
    { source: 'b', messageType: 'SMS_LOG_ALL', lastReceivedAt: at(7) },
  ]);
  expect(await readLastArrivals(database.db, ['b'])).toHaveLength(1);
  expect(await isCatchingUp(database.db)).toBe(true);
  await deliver(database.db, { receivedAt: new Date() });
  expect(await isCatchingUp(database.db)).toBe(false);

  const hours = 48;
  const first = Math.floor(Date.now() / (60 * MINUTE)) - hours + 1;
  const placeOf = (minutes: number) => Math.floor(at(minutes).getTime() / (60 * MINUTE)) - first;
  const recent = await recentArrivals(database.db, ALL_SOURCES, hours);
  const events = Array.from({ length: hours }, () => 0);
  expect(recent.get('b')).toEqual({ lastReceivedAt: at(7), events: events.with(placeOf(7), 4) });
  expect(recent.get('a')).toEqual({
    lastReceivedAt: at(130),
    events: events.with(placeOf(0), 12).with(placeOf(130), 4).with(placeOf(200), 4),
  });
});

test('two wrongs of deliveries do not make a right in their sum', async () => {
  await deliver(database.db, { receivedAt: new Date(), expected: 7 });
  await deliver(database.db, { receivedAt: new Date(), expected: 5 });
  await rollUpAll();
  expect(await sumArrivals(database.db, ALL_SOURCES)).toMatchObject([
    { expected: 12, events: 8, unbalanced: 2, addsUp: false },
  ]);
});

test('minutes older than 14 days become hours, and their sums stay', async () => {
  const now = new Date();
  for (let minute = 0; minute < 30; minute += 1) {
    await deliver(database.db, { receivedAt: new Date(now.getTime() - 13 * DAY - minute * 5 * MINUTE) });
  }
  await rollUpAll();
  const before = await counted();
  expect(await compactArrivals(database.db, now)).toBe(0);
  expect(await compactArrivals(database.db, new Date(now.getTime() + 2 * DAY))).toBe(30);
  expect(await compactArrivals(database.db, new Date(now.getTime() + 2 * DAY))).toBe(0);
  expect(await counted()).toEqual(before);
  const rows = await database.query`select distinct seconds from arrivals`;
  expect(rows).toEqual([{ seconds: 3600 }]);
});

test('what was fetched does not end the silence of a sender', async () => {
  const last = new Date(Date.now() - DAY);
  await deliver(database.db, { receivedAt: last });
  await deliver(database.db, { receivedAt: new Date(), origin: 'backfill' });
  await deliver(database.db, { receivedAt: new Date(), origin: 'backfill', source: 'b' });
  await rollUpAll();
  expect(await sumArrivals(database.db, ALL_SOURCES)).toMatchObject([
    { source: 'a', deliveries: 2, lastReceivedAt: last },
    { source: 'b', deliveries: 1, lastReceivedAt: null },
  ]);
  const range = { since: last, until: new Date(Date.now() + MINUTE) };
  expect((await sumArrivals(database.db, ALL_SOURCES, range))[1]?.lastReceivedAt).toBeNull();
  expect((await recentArrivals(database.db, ALL_SOURCES, 1)).get('b')?.lastReceivedAt).toBeNull();
});

test('what was counted is not counted again when the horizon is lower than before', async () => {
  const storing = await database.db.startTransaction().execute();
  await deliver(storing, { receivedAt: new Date() });
  await deliver(database.db, { receivedAt: new Date() });
  // As if that had been below the horizon of the last look.
  await database.query`update arrivals_progress set next_xid = pg_snapshot_xmax(pg_current_snapshot())`;
  await rollUpArrivals(database.db);
  await storing.rollback().execute();
  await rollUpAll();
  expect(await counted()).toEqual([]);
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
      let latest = now.getTime();
      const source = randomUUID();
      const writers = new Map<number, Awaited<ReturnType<typeof begin>>>();
      const begin = () => database.db.startTransaction().execute();
      for (const step of steps) {
        switch (step.kind) {
          case 'deliver': {
            const writer = writers.get(step.writer) ?? (await begin());
            writers.set(step.writer, writer);
            await deliver(writer, { receivedAt: new Date((latest += 1) - step.minutesAgo * MINUTE), source });
            break;
          }
          case 'commit':
          case 'rollback':
            await writers.get(step.writer)?.[step.kind]().execute();
            writers.delete(step.writer);
            break;
          case 'roll up':
            await rollUpArrivals(database.db, 2);
            break;
          case 'roll up twice':
            await Promise.all([rollUpArrivals(database.db), rollUpArrivals(database.db)]);
            break;
          case 'compact':
            await compactArrivals(database.db, now);
            break;
        }
      }
      for (const writer of writers.values()) await writer.commit().execute();
      await rollUpAll();
      expect(await counted(source)).toEqual(await recount(source));
      const stored = await database.query<{ n: number; last: Date }>`
        select count(*)::int as n, max(received_at) as last from deliveries where source = ${source}`;
      const sum = (await sumArrivals(database.db, ALL_SOURCES)).find((one) => one.source === source);
      expect([sum?.deliveries ?? 0, sum?.lastReceivedAt ?? null]).toEqual([stored[0]?.n, stored[0]?.last]);
    }),
    { numRuns: runs(25) },
  );
});
