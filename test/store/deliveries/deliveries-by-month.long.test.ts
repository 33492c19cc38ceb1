import { sql } from 'kysely';
import { afterEach, expect, test } from 'vitest';
import type { Db } from '../../../src/store/server/database.ts';
import { migrateStore } from '../../../src/store/server/schema/migrate.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { lockQuarantined } from '../../../src/store/quarantine/quarantine.ts';
import { readConservation } from '../../../src/store/counts/read-arrivals.ts';
import {
  allPartitions,
  changedPartitions,
  recount,
  recountDue,
} from '../../../src/store/deliveries/recount-deliveries.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { pageOfOpen } from '../../../src/store/quarantine/search-quarantine.ts';
import { countAll } from '../../support/arrivals.ts';
import { createOwnedDatabase, unguarded, type OwnedDatabase } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';

const NOW = new Date('2031-11-15T00:00:00Z');
let cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
  cleanUps = [];
});

async function createDatabase(): Promise<OwnedDatabase> {
  const owned = await createOwnedDatabase();
  cleanUps.push(() => owned.drop());
  return owned;
}

/** Stores deliveries of one quarantined record and one event, each received at one of these times. */
async function deliver(db: Db, ...times: readonly string[]): Promise<void> {
  await sql`
    with stored as (
      insert into deliveries (delivery_id, received_at, body_bytes, record_count, expected_count, event_count,
        duplicate_count, quarantined_count, source, message_type, origin)
      select gen_random_uuid(), time, 100, 2, 2, 1, 0, 1, 'a', 'AUDIT_LOG_ALL', 'webhook'
      from unnest(${times}::timestamptz[]) as time
      returning *
    )
    insert into quarantine (quarantine_id, delivery_id, received_at, source, message_type, reason, content)
    select gen_random_uuid(), delivery_id, received_at, source, message_type, 'x', 'y' from stored`.execute(
    db,
  );
}

const partitions = async (db: Db) => {
  const { rows } = await sql<{ partition: string; n: number }>`
    select tableoid::regclass::text as partition, count(*)::int as n from deliveries group by 1 order by 1`.execute(
    db,
  );
  return Object.fromEntries(rows.map(({ partition, n }) => [partition, n]));
};

const conservation = async (db: Db) => {
  const { rows } = await sql`
    select delivery_count::int as deliveries, quarantined_count::int as quarantined, quarantine_gaps::int as gaps,
      missing_deliveries::int as missing, adds_up
    from conservation`.execute(db);
  return rows;
};

const fine = (deliveries: number) => ({
  deliveries,
  quarantined: deliveries,
  gaps: 0,
  missing: 0,
  adds_up: true,
});

test('a partition of all months up to one, as an adopted database may have, goes with its last month', async () => {
  const { db } = await createDatabase();
  await migrateStore(db);
  await sql`create table deliveries_until_2031_11 (like deliveries including defaults)`.execute(db);
  await sql`alter table deliveries_until_2031_11 add primary key (delivery_id)`.execute(db);
  await sql`select guard_table('deliveries_until_2031_11'), order_table('deliveries_until_2031_11')`.execute(
    db,
  );
  await sql`
    alter table deliveries attach partition deliveries_until_2031_11
      for values from (minvalue) to ('2031-12-01T00:00:00Z')`.execute(db);
  expect(
    (await maintainPartitions(db, NOW, {})).created.filter((name) => name.startsWith('deliveries')),
  ).toEqual(['2031_12', '2032_01', '2032_02'].map((month) => `deliveries_${month}`));
  await deliver(
    db,
    '2031-11-30T23:59:59.999Z',
    '2031-12-01T00:00:00Z',
    '1999-01-01T00:00:00Z',
    '2050-01-01T00:00:00Z',
  );
  expect(await partitions(db)).toEqual({
    deliveries_default: 1,
    deliveries_until_2031_11: 2,
    deliveries_2031_12: 1,
  });
  await countAll(db);
  expect(await conservation(db)).toEqual([fine(4)]);
  expect(await recount(db, await allPartitions(db))).toEqual([]);

  const keep = { deliveries: 1 };
  expect((await maintainPartitions(db, new Date('2031-12-15T00:00:00Z'), keep)).dropped).toEqual([]);
  expect((await maintainPartitions(db, new Date('2032-01-15T00:00:00Z'), keep)).dropped).toEqual([
    'deliveries_until_2031_11',
  ]);
});

test('months that retention drops leave their sums, with which all deliveries ever stored still add up', async () => {
  const { db } = await createDatabase();
  await migrateStore(db);
  await maintainPartitions(db, NOW, {});
  await deliver(db, '2031-10-05T00:00:00Z', '2031-10-06T00:00:00Z', '2031-11-05T00:00:00Z');
  const later = new Date('2032-01-15T00:00:00Z');
  const keep = { deliveries: 2 };
  // Rows that are not counted as arrivals yet are not dropped.
  expect((await maintainPartitions(db, later, keep)).dropped).toEqual([]);
  await countAll(db);
  expect((await maintainPartitions(db, later, keep)).dropped).toEqual(['deliveries_2031_10']);
  expect(await partitions(db)).toEqual({ deliveries_2031_11: 1 });
  expect(await conservation(db)).toEqual([fine(3)]);
  const { rows } = await sql`
    select deliveries::int, quarantined::int, bytes::int, dropped_at is not null as dropped, until
    from delivery_sums join delivery_recounts using (partition) where deliveries > 0 and dropped_at is not null
  `.execute(db);
  expect(rows).toEqual([
    { deliveries: 2, quarantined: 2, bytes: 200, dropped: true, until: new Date('2031-11-01T00:00:00Z') },
  ]);
  expect(await recountDue(db, new AbortController().signal)).toEqual([]);
  // What is in quarantine stays, and can be replayed.
  const { items } = await pageOfOpen(db, ALL_SOURCES, { until: new Date('2031-11-01T00:00:00Z') }, 10);
  expect(items).toHaveLength(2);
  const ids = items.map(({ quarantine_id: id }) => id);
  const locked = await db.transaction().execute((trx) => lockQuarantined(trx, ALL_SOURCES, ids));
  expect(locked).toMatchObject([{ origin: 'webhook' }, { origin: 'webhook' }]);
  // A late one of a dropped month is stored, too.
  await deliver(db, '2031-10-07T00:00:00Z');
  await countAll(db);
  expect(await recount(db, await allPartitions(db))).toEqual([]);
  expect(await conservation(db)).toEqual([fine(4)]);
});

const TAMPERING: readonly [string, string, number][] = [
  ['deleted', `delete from deliveries where received_at = '2031-10-05T00:00:00Z'`, 1],
  [
    'changed',
    `update deliveries set event_count = 2, expected_count = 3 where received_at < '2031-11-01'`,
    0,
  ],
  ['truncated', 'truncate deliveries_2031_10', 2],
  ['dropped', 'drop table deliveries_2031_10', 2],
];

test.each(TAMPERING)(
  'rows of a closed month that a superuser has %s are found at once, and kept in mind',
  async (_what, statement, missing) => {
    const { db, admin } = await createDatabase();
    await migrateStore(db);
    await maintainPartitions(db, NOW, {});
    await deliver(db, '2031-10-05T00:00:00Z', '2031-10-06T00:00:00Z', '2031-11-05T00:00:00Z');
    await countAll(db);
    const { signal } = new AbortController();
    expect(await recountDue(db, signal)).toEqual([]);
    await waitFor(async () => (await changedPartitions(db)).length === 0);

    await unguarded(admin, (trx) => sql.raw(statement).execute(trx));
    // The server publishes its statistics after up to a second.
    await waitFor(async () => (await changedPartitions(db)).length > 0);
    const found = await recount(db, await changedPartitions(db));
    expect(found).toMatchObject([{ source: 'a', messageType: 'AUDIT_LOG_ALL', missing }]);
    expect(await recountDue(db, signal)).toEqual(found);
    expect(await conservation(db)).toMatchObject([{ missing, adds_up: false }]);
    expect((await readConservation(db, ALL_SOURCES)).unbalanced).toEqual(['a AUDIT_LOG_ALL']);
    expect(await changedPartitions(db)).toEqual([]);
  },
);
