import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseCheckpoints, writeCheckpoint, type Checkpoint } from '../../src/seal/checkpoint.ts';
import type { VerifyFinding } from '../../src/seal/verify/finding.ts';
import { createFrontier, hashAt, leafHash } from '../../src/seal/merkle-tree.ts';
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import { findEventsById } from '../../src/store/seal/erase.ts';
import { NO_TRACES } from '../../src/store/seal/person-traces.ts';
import { leafOf, readLeafHashes, readSalts } from '../../src/store/seal/read-seals.ts';
import { checkpointsAfter, readSealState } from '../../src/store/seal/seal-log.ts';
import { readingSealed, readSealedEvents, SEALED_VERSION } from '../../src/store/seal/sealed-rows.ts';
import { countAll } from '../support/arrivals.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
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

let test: TestDatabase;
let service: Db;
let log: SealedLog;
/** Checkpoints that were copied to elsewhere, when a third and two thirds of the events were sealed. */
let anchors: readonly Checkpoint[];

beforeEach(async () => {
  process.stdout.write(`TAMPER_SEED=${SEED}\n`);
  test = await createTestDatabase();
  service = openDatabase(test.databaseUrl, () => undefined);
  log = await openSealedLog(service, () => anchors);
  const kept: Checkpoint[] = [];
  for (const part of [0, 1, 2]) {
    await storeEvents(part);
    const { note } = await log.seal();
    if (part < 2) kept.push(...parseCheckpoints(note));
  }
  anchors = kept;
});
afterEach(async () => {
  await service.destroy();
  await test.drop();
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
    await storeDeliveries(service, ...batch);
    if (at % 5_000 === 0) await untilSeen(test.db);
  }
  await untilSeen(test.db);
}

/** Numbers below a bound, the same for the same seed. */
function createDraw(seed: number) {
  let state = seed;
  return (bound: number) => {
    state = (Math.imul(state ^ (state >>> 15), state | 1) + 0x6d2b79f5) | 0;
    return ((state ^ (state >>> 14)) >>> 0) % bound;
  };
}

/** Three at least, and one for each minute of sealing. */
async function countCheckpoints(): Promise<number> {
  const { rows } = await sql<{ count: string }>`select count(*) from log_checkpoints`.execute(test.db);
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
  const { rows } = await sql<Row>`
    select event_id, delivery_id from audit_events
    order by md5(event_id::text || ${String(SEED)}) limit ${count}`.execute(test.db);
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

describe('a superuser who switches all triggers off', () => {
  it('changes rows, and each is named, and nothing else is', async () => {
    const expected: Expected = {
      altered: new Set(),
      missing: new Set(),
      inserted: new Set(),
      deliveries: new Set(),
      invented: new Set(),
      positions: new Set(),
    };
    await countAll(service);
    await log.seal();
    // Without these, each change of a million events reads all of them.
    await sql`create index on audit_events (event_id)`.execute(test.db);
    await sql`create index on log_tiles using gin (event_ids)`.execute(test.db);
    const rows = await drawRows(CHANGES * 2 + ERASURES);
    for (const { event_id: id } of rows.splice(0, ERASURES)) {
      const erasable = { events: await findEventsById(service, [id]), ...NO_TRACES };
      expect(await eraseOnRecord(service, { operator: 'jane', reason: 'request' }, erasable)).toBeDefined();
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
    expect(named('INSERTED', 'event')).toEqual(sorted(expected.inserted));
    expect(named('ALTERED', 'delivery')).toEqual(sorted(expected.deliveries));
    expect(named('MISSING', 'delivery')).toEqual(sorted(expected.invented));
    // Leaves, tiles, checkpoints and anchors are as they were.
    expect(findings.filter(({ subject }) => subject !== 'event' && subject !== 'delivery')).toEqual([]);
    expect(summary).toMatchObject({ checkpoints: await countCheckpoints(), anchors: 2 });
  });
});

/** Makes leaves of changed rows, all tiles and all checkpoints anew, with the salts and the key of the log. */
async function forge(leaves: readonly number[]): Promise<void> {
  const { size, sealed } = await readSealState(service);
  const hashes = await readLeafHashes(service, 0, size);
  for (const leaf of leaves) {
    const position = sealed.from + leaf;
    const salt = await readSalts(service, leaf, leaf + 1);
    const [row] = await readingSealed(service, (trx) =>
      readSealedEvents(trx, { from: position, to: position + 1, version: SEALED_VERSION }),
    );
    leafHash(Buffer.concat([salt, Buffer.from(row?.record ?? 'null')])).copy(hashes, leaf * 32);
  }
  const tiles = new Map<string, Buffer[]>();
  const stored = await checkpointsAfter(service, 0, 1_000);
  const notes = new Map<number, string>();
  const frontier = createFrontier((level, index, node) => {
    const name = `${level} ${Math.floor(index / 256)}`;
    tiles.set(name, [...(tiles.get(name) ?? []), node]);
  });
  for (let leaf = 0; leaf < size; leaf += 1) {
    frontier.append(hashAt(hashes, leaf));
    const checkpoint = stored.find((one) => one.size === leaf + 1);
    if (checkpoint !== undefined)
      notes.set(leaf + 1, writeCheckpoint(leaf + 1, frontier.root(), checkpoint.madeAt, log.key));
  }
  await freely(test.db, async (trx) => {
    for (const [name, nodes] of tiles) {
      const [level = 0, number = 0] = name.split(' ').map(Number);
      await sql`update log_hashes set hashes = ${Buffer.concat(nodes)} where level = ${level} and number = ${number}`.execute(
        trx,
      );
    }
    for (const [at, note] of notes)
      await sql`update log_checkpoints set note = ${note} where size = ${at}`.execute(trx);
  });
}

describe('a superuser who also has the signing key', () => {
  const changeLeaf = async (leaf: number) => {
    const { sealed } = await readSealState(service);
    const position = sealed.from + leaf;
    const [row] = await readingSealed(service, (trx) =>
      readSealedEvents(trx, { from: position, to: position + 1, version: SEALED_VERSION }),
    );
    await freely(test.db, (trx) =>
      sql`update audit_events set user_name = 'nobody' where event_id = ${row?.eventId}`.execute(trx),
    );
  };

  it('makes everything anew, and an anchor names the leaves between the last good one and itself', async () => {
    const [first, second] = anchors.map(({ size }) => size);
    const leaf = (first ?? 0) + createDraw(SEED)((second ?? 0) - (first ?? 0));
    await changeLeaf(leaf);
    await forge([leaf]);
    const { summary, findings } = await log.verify();
    expect(findings).toMatchObject([{ state: 'ALTERED', subject: 'anchor', leaves: [first, second] }]);
    expect(summary).toMatchObject({ checkpoints: await countCheckpoints(), anchors: 1, anchoredSize: first });
  });

  it('changes what no anchor has yet, which is said not to be anchored', async () => {
    const { size } = await readSealState(service);
    await changeLeaf(size - 1);
    await forge([size - 1]);
    const { summary, findings } = await log.verify();
    expect(findings).toEqual([]);
    expect(summary.anchoredSize).toBeLessThan(size);
  });

  it('cuts the tail off', async () => {
    const [first = 0, second] = anchors.map(({ size }) => size);
    const { sealed } = await readSealState(service);
    const next = sealed.from + first;
    await freely(test.db, async (trx) => {
      await sql`delete from audit_events where event_id in (
        select unnest(event_ids) from log_tiles where first >= ${next}::bigint)`.execute(trx);
      await sql`delete from log_tiles where first >= ${next}::bigint`.execute(trx);
      await sql`delete from log_checkpoints where size > ${first}::bigint`.execute(trx);
      await sql`update log_seals set leaves = ${first}::bigint`.execute(trx);
      await sql`update log_seal_state set size = ${first}::bigint, next_position = ${next}::bigint`.execute(
        trx,
      );
    });
    expect((await log.verify()).findings).toContainEqual(
      expect.objectContaining({ state: 'MISSING', subject: 'anchor', leaves: [first, second] }),
    );
  });
});
