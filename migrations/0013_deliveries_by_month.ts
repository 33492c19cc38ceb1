import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/**
 * Partitions `deliveries` by month of `received_at`. No row is read or moved here: the table of before becomes the default
 * partition, and maintenance turns that into a partition for all months up to now, while others store
 * (src/store/convert-deliveries.ts). Programs of before can still insert and select.
 *
 * Each partition has a primary key of its own, `delivery_id`: a delivery carries its `received_at` wherever it waits, so
 * it always comes to the same partition. A key of the whole table would contain `received_at`, and building it would
 * take hours on a large table.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // This locks the table, which comes first in the order in which transactions that store lock the tables.
  await sql`drop trigger refuse_change on deliveries`.execute(db);
  await sql`alter table deliveries rename to deliveries_default`.execute(db);
  for (const index of ['pkey', 'received_at', 'quarantined', 'xid']) {
    await sql`alter index ${sql.id(`deliveries_${index}`)} rename to ${sql.id(`deliveries_default_${index}`)}`.execute(
      db,
    );
  }
  await sql`
    create table deliveries (like deliveries_default including defaults including comments)
      partition by range (received_at)`.execute(db);
  await sql`
    comment on table deliveries is
      'One inbound POST each, with the counts that must add up: expected = event + duplicate + quarantined'`.execute(
    db,
  );
  await copyRights(db);
  // The indexes of before become parts of these.
  await sql`create index deliveries_received_at on deliveries using brin (received_at)`.execute(db);
  await sql`create index deliveries_quarantined on deliveries (delivery_id) where quarantined_count > 0`.execute(
    db,
  );
  await sql`create index deliveries_xid on deliveries (xid) where xid is not null`.execute(db);
  await sql`
    create trigger refuse_change before update or delete on deliveries
      for each row execute function refuse_change()`.execute(db);
  await sql`alter table deliveries attach partition deliveries_default default`.execute(db);
  await sql`select order_table('deliveries'), guard_table('deliveries')`.execute(db);
  await sql`select guard_table('deliveries_default')`.execute(db);
  await lockParentOnly(db);
  await sql`insert into locks values ('default partitions') on conflict do nothing`.execute(db);
  await createSums(db);
  await countByTotals(db);
}

/** Other roles keep what was granted to them. */
async function copyRights(db: Kysely<unknown>): Promise<void> {
  await sql`
    do $$
    declare
      granted record;
    begin
      for granted in
        select privilege_type, case grantee when 0 then 'public' else grantee::regrole::text end as role
          from pg_class, aclexplode(relacl) where oid = 'deliveries_default'::regclass and grantee <> relowner
      loop
        execute format('grant %s on deliveries to %s', granted.privilege_type, granted.role);
      end loop;
    end $$`.execute(db);
}

/** The lock that shows who stores is one on the table itself: the partitions would be locked one by one, too. */
async function lockParentOnly(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
  const schema = rows[0]?.schema ?? 'public';
  await sql`
    create or replace function begin_storing() returns void language plpgsql as $$
    declare
      own text := pg_current_xact_id_if_assigned()::text;
    begin
      if own is null then
        lock table only ${sql.id(schema, 'deliveries')} in row exclusive mode;
        perform set_config('xiq_sink.storing', pg_current_xact_id()::text, true);
      elsif own is distinct from current_setting('xiq_sink.storing', true) then
        raise exception 'this transaction got its transaction id before it began to store'
          using errcode = 'object_not_in_prerequisite_state',
                hint = 'Make "select begin_storing()" the first statement of the transaction, before any savepoint.';
      end if;
    end $$`.execute(db);
}

async function createSums(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table delivery_recounts (
      partition text primary key,
      counted_at timestamptz not null,
      counted_to xid8 not null,
      changes text not null,
      until timestamptz,
      dropped_at timestamptz
    )`.execute(db);
  await sql`
    create table delivery_sums (
      partition text not null,
      source text not null,
      message_type text not null,
      deliveries bigint not null,
      records bigint not null,
      expected bigint not null,
      events bigint not null,
      duplicates bigint not null,
      quarantined bigint not null,
      bytes bigint not null,
      unbalanced bigint not null,
      last_received_at timestamptz,
      missing bigint not null,
      differs boolean not null,
      primary key (partition, source, message_type)
    )`.execute(db);
  await sql`grant select on delivery_recounts, delivery_sums to xiq_reader`.execute(db);
  const comments = {
    'table delivery_recounts': 'When the rows of each partition of deliveries were last counted',
    'column delivery_recounts.counted_to': 'Rows that an earlier transaction stored are counted',
    'column delivery_recounts.changes':
      'File, updates and deletes of the partition when it was counted: a change means that it must be counted again',
    'column delivery_recounts.until': 'End of the months of the partition; null for the default partition',
    'column delivery_recounts.dropped_at': 'When retention dropped the partition; its sums are kept',
    'table delivery_sums': 'The rows that each partition of deliveries had when it was last counted',
    'column delivery_sums.missing':
      'Deliveries that were counted in arrivals when they were stored, and are not found any more',
    'column delivery_sums.differs': 'Whether any sum differs from what arrivals counted',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}

/**
 * The view reads the sums that are kept of all deliveries, and rows only of those that are not counted there yet. That
 * the rows are still what was counted is the result of the last recount of each partition.
 */
async function countByTotals(db: Kysely<unknown>): Promise<void> {
  const fresh = sql`
    select source, message_type, count(*) as deliveries, sum(record_count) as records, sum(expected_count) as expected,
           sum(event_count) as events, sum(duplicate_count) as duplicates, sum(quarantined_count) as quarantined,
           count(*) filter (
             where expected_count <> event_count + duplicate_count + quarantined_count
           ) as unbalanced
    from deliveries`;
  await sql`
    create or replace view conservation as
      select sums.*, expected_count - event_count - duplicate_count - quarantined_count as unaccounted_count,
             expected_count = event_count + duplicate_count + quarantined_count and unbalanced_deliveries = 0
               and gaps.quarantine_gaps is null and not coalesce(recounted.differs, false) as adds_up,
             coalesce(kept.open_count, 0) as open_count, coalesce(kept.replayed_count, 0) as replayed_count,
             coalesce(kept.discarded_count, 0) as discarded_count,
             coalesce(gaps.quarantine_gaps, 0) as quarantine_gaps,
             coalesce(recounted.missing, 0)::bigint as missing_deliveries,
             coalesce(recounted.differing, 0) as differing_partitions
      from (
        select source, message_type, sum(deliveries)::bigint as delivery_count, sum(records)::bigint as record_count,
               sum(expected)::bigint as expected_count, sum(events)::bigint as event_count,
               sum(duplicates)::bigint as duplicate_count, sum(quarantined)::bigint as quarantined_count,
               sum(unbalanced)::bigint as unbalanced_deliveries
        from (
          select source, message_type, deliveries, records, expected, events, duplicates, quarantined, unbalanced
          from arrival_totals
          union all
          -- The upper bound is always true: with it, the planner expects few rows.
          ${fresh} where xid >= (select next_xid from arrivals_progress) and xid < '18446744073709551615'
          group by 1, 2
          union all
          -- Rows of before transactions were stored with them, while they are being counted.
          ${fresh} where (select old_before from arrivals_progress) is not null
            and xid is null and received_at < (select old_before from arrivals_progress)
          group by 1, 2
        ) as counted group by source, message_type
      ) as sums
      left join (
        select source, message_type, count(*) filter (where resolution is null) as open_count,
               count(*) filter (where resolution = 'replayed') as replayed_count,
               count(*) filter (where resolution = 'discarded') as discarded_count
        from quarantine group by source, message_type
      ) as kept using (source, message_type)
      left join (
        select source, message_type, count(*) as quarantine_gaps
        from (
          select delivery_id, source, message_type, quarantined_count, received_at
          from deliveries where quarantined_count > 0
        ) as said
        full join (
          select delivery_id, source, message_type, count(*) as quarantined_count, min(received_at) as received_at
          from quarantine group by delivery_id, source, message_type
        ) as found using (delivery_id, source, message_type)
        where said.quarantined_count is distinct from found.quarantined_count
          -- The deliveries of the others are gone: retention has dropped their months.
          and coalesce(said.received_at, found.received_at) >= (
            select coalesce(max(until), '-infinity') from delivery_recounts where dropped_at is not null)
        group by source, message_type
      ) as gaps using (source, message_type)
      left join (
        select source, message_type, sum(missing) as missing, bool_or(differs) as differs,
               count(*) filter (where differs) as differing
        from delivery_sums group by source, message_type
      ) as recounted using (source, message_type)
      order by source, message_type`.execute(db);
  const comments = {
    missing_deliveries:
      'Deliveries that the last recount of their partition did not find any more (negative: that it found too many)',
    differing_partitions:
      'Partitions of deliveries whose rows are not what was counted when they were stored: see delivery_sums',
  };
  for (const [column, text] of Object.entries(comments)) {
    await sql`comment on column ${sql.ref(`conservation.${column}`)} is ${sql.lit(text)}`.execute(db);
  }
}
