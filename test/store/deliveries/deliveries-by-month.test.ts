import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { lockQuarantined } from '../../../src/store/quarantine/quarantine.ts';
import { readConservation } from '../../../src/store/counts/read-arrivals.ts';
import { compareRows, countRows } from '../../../src/store/deliveries/count-rows.ts';
import {
  allPartitions,
  changedPartitions,
  recount,
  recountDue,
} from '../../../src/store/deliveries/recount-deliveries.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { pageOfOpen } from '../../../src/store/quarantine/search-quarantine.ts';
import { countAll } from '../../support/arrivals.ts';
import { unguarded } from '../../support/database.ts';
import { useDatabase } from '../../support/use-database.ts';
import { waitFor } from '../../support/wait-for.ts';

const NOW = new Date('2031-11-15T00:00:00Z');
const { signal } = new AbortController();

const database = useDatabase({ forEach: true });

/** Stores deliveries of one quarantined record and one event, each received at one of these times. */
async function deliver(...times: readonly string[]): Promise<void> {
  await database.query`
    with stored as (
      insert into deliveries (delivery_id, received_at, body_bytes, record_count, expected_count, event_count,
        duplicate_count, quarantined_count, source, message_type, origin)
      select gen_random_uuid(), time, 100, 2, 2, 1, 0, 1, 'a', 'AUDIT_LOG_ALL', 'webhook'
      from unnest(${times}::timestamptz[]) as time
      returning *
    )
    insert into quarantine (quarantine_id, delivery_id, received_at, source, message_type, reason, content)
    select gen_random_uuid(), delivery_id, received_at, source, message_type, 'x', 'y' from stored`;
}

const partitions = async () => {
  const rows = await database.query<{ partition: string; n: number }>`
    select tableoid::regclass::text as partition, count(*)::int as n from deliveries group by 1 order by 1`;
  return Object.fromEntries(rows.map(({ partition, n }) => [partition, n]));
};

const conservation = () => database.query`
  select delivery_count::int as deliveries, quarantined_count::int as quarantined, quarantine_gaps::int as gaps,
    missing_deliveries::int as missing, adds_up
  from conservation`;

const fine = (deliveries: number) => ({
  deliveries,
  quarantined: deliveries,
  gaps: 0,
  missing: 0,
  adds_up: true,
});

/** The months of before, in which nothing was stored, go as well. */
const droppedAt = async (time: string, months: number) => {
  const { dropped } = await maintainPartitions(database.db, new Date(time), { deliveries: months });
  return dropped.filter((name) => name >= 'deliveries_2031');
};

test('a partition of all months up to one, as an adopted database may have, goes with its last month', async () => {
  const { db } = database;
  await sql
    .raw(
      `
    do $$ declare part regclass; begin
      for part in select inhrelid from pg_inherits where inhparent = 'deliveries'::regclass
        and inhrelid <> 'deliveries_default'::regclass
      loop execute format('drop table %s', part); end loop;
    end $$;
    create table deliveries_until_2031_11 (like deliveries including defaults);
    alter table deliveries_until_2031_11 owner to xiq_owner, add primary key (delivery_id);
    select guard_table('deliveries_until_2031_11'), order_table('deliveries_until_2031_11');
    alter table deliveries attach partition deliveries_until_2031_11
      for values from (minvalue) to ('2031-12-01T00:00:00Z')`,
    )
    .execute(db);
  const { created } = await maintainPartitions(db, NOW, {});
  expect(created.filter((name) => name.startsWith('deliveries'))).toEqual(
    ['2031_12', '2032_01', '2032_02'].map((month) => `deliveries_${month}`),
  );
  const [last, next] = ['2031-11-30T23:59:59.999Z', '2031-12-01T00:00:00Z'];
  await deliver(last, next, '1999-01-01T00:00:00Z', '2050-01-01T00:00:00Z');
  expect(await partitions()).toEqual({
    deliveries_default: 1,
    deliveries_until_2031_11: 2,
    deliveries_2031_12: 1,
  });
  await countAll(db);
  expect(await conservation()).toEqual([fine(4)]);
  expect(await recount(db, await allPartitions(db))).toEqual([]);
  expect(await droppedAt('2031-12-15T00:00:00Z', 1)).toEqual([]);
  expect(await droppedAt('2032-01-15T00:00:00Z', 1)).toEqual(['deliveries_until_2031_11']);
});

test('months that retention drops leave their sums, with which all deliveries ever stored still add up', async () => {
  const { db } = database;
  await maintainPartitions(db, NOW, {});
  await deliver('2031-10-05T00:00:00Z', '2031-10-06T00:00:00Z', '2031-11-05T00:00:00Z');
  // Rows that are not counted as arrivals yet are not dropped.
  expect(await droppedAt('2032-01-15T00:00:00Z', 2)).toEqual([]);
  await countAll(db);
  expect(await droppedAt('2032-01-15T00:00:00Z', 2)).toEqual(['deliveries_2031_10']);
  expect(await partitions()).toEqual({ deliveries_2031_11: 1 });
  expect(await conservation()).toEqual([fine(3)]);
  const rows = await database.query`
    select deliveries::int, quarantined::int, bytes::int, until
    from delivery_sums join delivery_recounts using (partition) where deliveries > 0 and dropped_at is not null`;
  expect(rows).toEqual([
    { deliveries: 2, quarantined: 2, bytes: 200, until: new Date('2031-11-01T00:00:00Z') },
  ]);
  expect(await recountDue(db, signal)).toEqual([]);
  // What is in quarantine stays, and can be replayed.
  const { items } = await pageOfOpen(db, ALL_SOURCES, { until: new Date('2031-11-01T00:00:00Z') }, 10);
  expect(items).toHaveLength(2);
  const ids = items.map(({ quarantine_id: id }) => id);
  const locked = await db.transaction().execute((trx) => lockQuarantined(trx, ALL_SOURCES, ids));
  expect(locked).toMatchObject([{ origin: 'webhook' }, { origin: 'webhook' }]);
  // A late one of a dropped month is stored, too.
  await deliver('2031-10-07T00:00:00Z');
  await countAll(db);
  expect(await recount(db, await allPartitions(db))).toEqual([]);
  expect(await conservation()).toEqual([fine(4)]);
});

/** What a superuser does, in which partition that shows, and how many deliveries are missing there. */
const TAMPERING = [
  [`delete from deliveries where received_at = '2031-10-05T00:00:00Z'`, 'deliveries_2031_10', 1],
  [
    `update deliveries set event_count = 2, expected_count = 3 where received_at = '2031-11-05T00:00:00Z'`,
    'deliveries_2031_11',
    0,
  ],
  ['truncate deliveries_2031_12', 'deliveries_2031_12', 2],
  ['drop table deliveries_2032_01', 'deliveries_default', 2],
] as const;

test('rows of closed months that a superuser has deleted, changed, truncated or dropped are found at once, and kept in mind', async () => {
  const { db } = database;
  await maintainPartitions(db, NOW, {});
  for (const month of ['2031-10', '2031-11', '2031-12', '2032-01'])
    await deliver(`${month}-05T00:00:00Z`, `${month}-06T00:00:00Z`);
  await countAll(db);
  expect(await recountDue(db, signal)).toEqual([]);
  await waitFor(async () => (await changedPartitions(db)).length === 0);

  await unguarded(db, async (trx) => {
    for (const [statement] of TAMPERING) await sql.raw(statement).execute(trx);
  });
  // The server publishes its statistics after up to a second.
  await waitFor(async () => (await changedPartitions(db)).length === TAMPERING.length);
  expect(await recountDue(db, AbortSignal.abort())).toEqual([]);
  const expected = TAMPERING.map(([, partition, missing]) => ({
    partition,
    source: 'a',
    messageType: 'AUDIT_LOG_ALL',
    missing,
  }));
  const byPartition = (found: Awaited<ReturnType<typeof recount>>) =>
    found.toSorted((one, other) => (one.partition < other.partition ? -1 : 1));
  expect(byPartition(await recount(db, await changedPartitions(db)))).toEqual(expected);
  expect(byPartition(await recountDue(db, signal))).toEqual(expected);
  expect(await conservation()).toMatchObject([{ missing: 5, adds_up: false }]);
  expect((await readConservation(db, ALL_SOURCES)).unbalanced).toEqual(['a AUDIT_LOG_ALL']);
  expect(await changedPartitions(db)).toEqual([]);
  // They are counted again every day.
  for (const [hours, found] of [[23, []] as const, [25, expected] as const]) {
    await database.query`update delivery_recounts set counted_at = now() - make_interval(hours => ${hours})`;
    expect(byPartition(await recountDue(db, signal))).toEqual(found);
  }
});

test('a copy of the database has the rows that were counted, and those stored meanwhile', async () => {
  const { db } = database;
  await maintainPartitions(db, NOW, {});
  await deliver('2031-10-05T00:00:00Z', '2031-11-05T00:00:00Z');
  const counts = await countRows(db);
  expect(counts.tables).toMatchObject({ deliveries_2031_10: 1, quarantine: 2, sessions: 0 });
  await deliver('2031-11-06T00:00:00Z');
  expect(await compareRows(db, counts)).toEqual([]);
  expect(await compareRows(db, { ...counts, tables: { gone: 1, gone_2031_09: 1, sessions: 7 } })).toEqual([
    { table: 'gone', counted: 1, found: undefined },
  ]);
  await unguarded(db, (trx) => trx.deleteFrom('quarantine').execute());
  await unguarded(db, (trx) =>
    sql`delete from deliveries where received_at = '2031-10-05T00:00:00Z'`.execute(trx),
  );
  expect(await compareRows(db, counts)).toEqual([
    { table: 'deliveries_2031_10', counted: 1, found: 0 },
    { table: 'quarantine', counted: 2, found: 0 },
  ]);
});
