import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { parseCheckpoints, type Checkpoint } from '../../src/seal/checkpoint.ts';
import type { VerifyFinding } from '../../src/seal/verify/finding.ts';
import type { Db } from '../../src/store/server/database.ts';
import { findEventsById } from '../../src/store/seal/erase.ts';
import { NO_TRACES } from '../../src/store/seal/person-traces.ts';
import { leafOf } from '../../src/store/seal/read-seals.ts';
import { countAll } from '../support/arrivals.ts';
import { useDatabase } from '../support/use-database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { freely } from '../support/tamper.ts';
import { untilSeen } from '../support/until-seen.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { storeDeliveries, eraseOnRecord } from '../support/actions.ts';

/** Sealed rows, and how many of them are changed. */
const EVENTS = Number(process.env['TAMPER_EVENTS'] ?? 10_000);
const CHANGES = EVENTS / 100;
/** Events that are erased on request, one at a time. */
const ERASURES = EVENTS / 1_000;
const SEED = Number(process.env['TAMPER_SEED'] ?? Date.now() % 1_000_000);

const RECORDS = 20;
const MONTHS = [0, 31, 59].map((days) => Date.UTC(2026, 2, 10) + days * 86_400_000);

const test = useDatabase({ forEach: true });
let log: SealedLog;
/** Checkpoints that were copied to elsewhere, when a third and two thirds of the events were sealed. */
let anchors: readonly Checkpoint[];

beforeEach(async () => {
  process.stdout.write(`TAMPER_SEED=${SEED}\n`);
  log = await openSealedLog(test.service, () => anchors);
  const kept: Checkpoint[] = [];
  for (const part of [0, 1, 2]) {
    await storeEvents(part);
    const { note } = await log.seal();
    if (part < 2) kept.push(...parseCheckpoints(note));
  }
  anchors = kept;
});

async function storeEvents(part: number): Promise<void> {
  const deliveries = Math.ceil(EVENTS / 3 / RECORDS);
  for (let at = 0; at < deliveries; at += 100) {
    const batch = Array.from({ length: Math.min(100, deliveries - at) }, (_, index) => {
      const number = part * deliveries + at + index;
      const records = Array.from({ length: RECORDS }, (_, place) =>
        auditRecord({
          timeStamp: (MONTHS[place % 3] ?? 0) + number,
          code: place,
          userName: `user ${number}`,
        }),
      );
      return queuedDelivery('AUDIT_LOG_ALL', records, { source: `source-${number % 3}` });
    });
    await storeDeliveries(test.service, ...batch);
    if (at % 5_000 === 0) await untilSeen(test.db);
  }
  await untilSeen(test.db);
}

/** Three at least, and one for each minute of sealing. */
async function countCheckpoints(): Promise<number> {
  const rows = await test.query<{ count: string }>`select count(*) from log_checkpoints`;
  const count = Number(rows[0]?.count);
  expect(count).toBeGreaterThanOrEqual(3);
  return count;
}

interface Row {
  readonly event_id: string;
  readonly delivery_id: string;
}

/** Draws this many rows, each once. */
async function drawRows(count: number): Promise<Row[]> {
  const rows = await test.query<Row>`
    select event_id, delivery_id from audit_events
    order by md5(event_id::text || ${String(SEED)}) limit ${count}`;
  return rows;
}

const COLUMNS = [
  "user_name = 'nobody'",
  'code = coalesce(code, 0) + 1',
  "source = 'elsewhere'",
  "received_at = received_at - interval '1 second'",
  'place = place + 1000',
  'org_id = 99',
  'id = id + 1000000000',
  "description = ''",
  "payload = jsonb_set(payload, '{code}', '424242')",
];

const COUNTERS = [
  'event_count = event_count + 1',
  // These add up.
  'expected_count = expected_count + 1, duplicate_count = duplicate_count + 1',
];

const ways = [
  'column',
  'deleted',
  'swapped',
  'inserted',
  'month moved',
  'erasure faked',
  'entry changed',
  'counter',
  'erasure claimed',
] as const;

/** What verify has to say about the changes. */
interface Expected {
  readonly altered: Set<string>;
  readonly missing: Set<string>;
  readonly inserted: Set<string>;
  readonly deliveries: Set<string>;
  /** Deliveries that inserted events name, and that never were. */
  readonly invented: Set<string>;
  /** Of events whose ids are gone from the log. */
  readonly positions: Set<number>;
}

/** Deletes the salt of an event, as an erasure does. Returns where the event is. */
async function forgetSalt(db: Db, row: Row): Promise<{ readonly position: number; readonly leaf: number }> {
  const { rows } = await sql<{ position: number }>`
    select (first + array_position(event_ids, ${row.event_id}::uuid) - 1)::float8 as position from log_tiles
    where event_ids @> array[${row.event_id}::uuid]`.execute(db);
  const position = rows[0]?.position ?? 0;
  const leaf = (await leafOf(db, position))?.leaf ?? 0;
  await sql`update log_salts set salts[${(leaf % 256) + 1}::int] = null
    where number = ${Math.floor(leaf / 256)}`.execute(db);
  return { position, leaf };
}

/** Changes a row in one of the ways, and notes what verify has to find. */
async function change(
  db: Db,
  way: (typeof ways)[number],
  row: Row,
  other: Row,
  at: number,
  expected: Expected,
) {
  const isRow = sql`event_id = ${row.event_id}`;
  const isOther = sql`event_id = ${other.event_id}`;
  switch (way) {
    case 'column':
      await sql`update audit_events set ${sql.raw(COLUMNS[at % COLUMNS.length] ?? '')} where ${isRow}`.execute(
        db,
      );
      return expected.altered.add(row.event_id);
    case 'swapped':
      await sql`
        update audit_events set payload = swapped.payload from audit_events as swapped
        where audit_events.event_id in (${row.event_id}, ${other.event_id})
          and swapped.event_id in (${row.event_id}, ${other.event_id})
          and swapped.event_id <> audit_events.event_id`.execute(db);
      expected.altered.add(row.event_id);
      return expected.altered.add(other.event_id);
    case 'inserted': {
      const { rows } = await sql<Row>`
        insert into audit_events (id, xid, event_id, delivery_id, occurred_at, received_at, source, message_type, origin, payload)
        select id, xid, gen_random_uuid(), gen_random_uuid(), occurred_at, received_at, source, message_type, origin, payload
        from audit_events where ${isRow} returning event_id, delivery_id`.execute(db);
      rows.forEach(({ delivery_id: id }) => expected.invented.add(id));
      return rows.forEach(({ event_id: id }) => expected.inserted.add(id));
    }
    case 'month moved':
      await sql`update audit_events set occurred_at = occurred_at - interval '1 month' where ${isRow}`.execute(
        db,
      );
      expected.inserted.add(row.event_id);
      return expected.missing.add(row.event_id);
    case 'entry changed': {
      await sql`
        update log_tiles set event_ids = array_replace(event_ids, ${row.event_id}::uuid, ${other.event_id}::uuid)
        where event_ids @> array[${row.event_id}::uuid]`.execute(db);
      // The entry leads nowhere, unless the other event has the same time. The row itself is in no entry.
      const { rows } = await sql<{ times: number }>`
        select count(distinct occurred_at)::int as times from audit_events where ${isRow} or ${isOther}`.execute(
        db,
      );
      const isFound = rows[0]?.times === 1;
      (isFound ? expected.altered : expected.missing).add(other.event_id);
      return expected.inserted.add(row.event_id);
    }
    case 'erasure faked': {
      await forgetSalt(db, row);
      await sql`delete from audit_events where ${isRow}`.execute(db);
      expected.deliveries.add(row.delivery_id);
      return expected.missing.add(row.event_id);
    }
    case 'deleted':
      await sql`delete from audit_events where ${isRow} or false and ${isOther}`.execute(db);
      expected.deliveries.add(row.delivery_id);
      return expected.missing.add(row.event_id);
    case 'counter':
      await sql`update deliveries set ${sql.raw(COUNTERS[at % COUNTERS.length] ?? '')}
        where delivery_id = ${row.delivery_id}`.execute(db);
      return expected.deliveries.add(row.delivery_id);
    case 'erasure claimed': {
      const { position, leaf } = await forgetSalt(db, row);
      await sql`
        update log_tiles set event_ids[array_position(event_ids, ${row.event_id}::uuid)] = null,
          occurred_at[array_position(event_ids, ${row.event_id}::uuid)] = null
        where event_ids @> array[${row.event_id}::uuid]`.execute(db);
      await sql`delete from audit_events where ${isRow}`.execute(db);
      await sql`
        insert into erasures (operator, reason, event_count, item_count, operation_count, leaves, deliveries)
        values ('joe', 'none', 1, 0, 0, int8multirange(int8range(${leaf}, ${leaf + 1})),
          jsonb_build_object(${row.delivery_id}::text, 1))`.execute(db);
      return expected.positions.add(position);
    }
  }
}

const sorted = (ids: Iterable<string | undefined>) => [...new Set(ids)].map(String).toSorted();

it('a superuser who switches all triggers off changes rows, and each is named, and nothing else is', async () => {
  const expected: Expected = {
    altered: new Set(),
    missing: new Set(),
    inserted: new Set(),
    deliveries: new Set(),
    invented: new Set(),
    positions: new Set(),
  };
  await countAll(test.service);
  await log.seal();
  // Without these, each change of a million events reads all of them.
  await test.query`create index on audit_events (event_id)`;
  await test.query`create index on log_tiles using gin (event_ids)`;
  const rows = await drawRows(CHANGES * 2 + ERASURES);
  for (const { event_id: id } of rows.splice(0, ERASURES)) {
    const erasable = { events: await findEventsById(test.service, [id]), ...NO_TRACES };
    expect(
      await eraseOnRecord(test.service, { operator: 'jane', reason: 'request' }, erasable),
    ).toBeDefined();
  }
  await log.seal();
  await freely(test.db, async (trx) => {
    for (let at = 0; at < CHANGES; at += 1) {
      const [row, other] = [rows[at * 2], rows[at * 2 + 1]];
      const way = ways[at % ways.length];
      if (row !== undefined && other !== undefined && way !== undefined) {
        await change(trx, way, row, other, Math.floor(at / ways.length), expected);
      }
    }
  });
  const { summary, findings: all } = await log.verify();
  expect(all.filter(({ state }) => state === 'ERASED')).toHaveLength(ERASURES);
  const claims = all.filter(({ subject }) => subject === 'erasure');
  expect(claims.map(({ state }) => state)).toEqual([...expected.positions].map(() => 'INSERTED'));
  const isClaimed = ({ state, subject, eventId }: VerifyFinding) =>
    state === 'MISSING' && subject === 'event' && eventId === undefined;
  expect(sorted(all.filter(isClaimed).map(({ position }) => String(position)))).toEqual(
    sorted([...expected.positions].map(String)),
  );
  const findings = all.filter((one) => one.state !== 'ERASED' && !claims.includes(one) && !isClaimed(one));
  const named = (state: VerifyFinding['state'], subject: VerifyFinding['subject']) =>
    sorted(
      findings
        .filter((one) => one.state === state && one.subject === subject)
        .map((one) => one.eventId ?? one.deliveryId),
    );
  expect(named('ALTERED', 'event')).toEqual(sorted(expected.altered));
  expect(named('MISSING', 'event')).toEqual(sorted(expected.missing));
  // A row with another source or another time of arrival is not in the log as it is, either.
  const isNew = (id: string) => !expected.altered.has(id) || expected.inserted.has(id);
  expect(named('INSERTED', 'event').filter(isNew)).toEqual(sorted(expected.inserted));
  expect(named('ALTERED', 'delivery')).toEqual(sorted(expected.deliveries));
  expect(named('MISSING', 'delivery')).toEqual(sorted(expected.invented));
  // Leaves, tiles, checkpoints and anchors are as they were.
  expect(findings.filter(({ subject }) => subject !== 'event' && subject !== 'delivery')).toEqual([]);
  expect(summary).toMatchObject({ checkpoints: await countCheckpoints(), anchors: 2 });
});
