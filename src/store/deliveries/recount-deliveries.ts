import { sql, type RawBuilder } from 'kysely';
import type { Db, Trx } from '../server/database.ts';
import { lockRow } from '../server/locks.ts';
import { addMonths, monthOf } from '../partitions/partitioned-tables.ts';
import { COUNT_DELIVERIES, COUNTS, NUMBERS, SUMS } from '../counts/roll-up-arrivals.ts';
import { cancelOn } from '../server/server-sessions.ts';
import { allRows, firstRow, onlyRow, run } from '../server/statement.ts';

/*
 * `conservation` adds up what was counted when deliveries were stored (`arrival_totals`), at a cost that does not grow
 * with them. That their rows are still there is found out here: the rows of a partition are counted again and compared
 * with the counts by time of arrival. That happens every day, and soon after any row was updated or deleted.
 */

/** A partition whose rows are not what was counted when they were stored. */
export interface Difference {
  readonly partition: string;
  readonly source: string;
  readonly messageType: string;
  /** Deliveries that are not found any more; negative: too many are found; 0: other counts differ. */
  readonly missing: number;
}

/** A partition is counted again after this time, even if the statistics of the server show no change. */
const RECOUNT_HOURS = 24;

/** A recount of all partitions gives way to other maintenance after so long, and is continued in the next round. */
const ROUND_MS = 10 * 60 * 1000;

/**
 * The bounds of a partition, its file, and the number of its updates and deletes since the statistics began: no insert
 * changes these. Attempts that were rolled back count, too. A crash of the server sets the numbers back.
 */
const CHANGES = sql`
  concat_ws('/', md5(pg_get_partition_constraintdef(inhrelid)), pg_relation_filenode(inhrelid),
    pg_stat_get_tuples_updated(inhrelid), pg_stat_get_tuples_deleted(inhrelid))`;

/** The months before this were dropped by retention; what arrives for them later is not compared. */
const KEPT_SINCE = sql`(
  select coalesce(max(until), '-infinity') from delivery_recounts where dropped_at is not null)`;

const PARTITIONS = sql`
  select inhrelid::regclass::text as partition, ${CHANGES} as changes from pg_inherits
  where inhparent = 'deliveries'::regclass`;

/** The partitions of `deliveries` that were changed since their last recount, or have had none. */
export async function changedPartitions(db: Db): Promise<readonly string[]> {
  return due(db, sql`recounted.changes is distinct from present.changes`);
}

/** All partitions of `deliveries`. */
export const allPartitions = (db: Db) => due(db, sql`true`);

async function due(db: Db, condition: RawBuilder<unknown>): Promise<readonly string[]> {
  const rows = await allRows<{ partition: string }>(db)`
    select present.partition from (${PARTITIONS}) as present
    left join delivery_recounts as recounted using (partition)
    where ${condition} order by counted_at nulls first, partition`;
  return rows.map(({ partition }) => partition);
}

/** Counts the partitions again that are due, and keeps the results. Returns the differences in them. */
export async function recountDue(db: Db, signal: AbortSignal): Promise<readonly Difference[]> {
  const began = performance.now();
  const differences: Difference[] = [];
  const partitions = await due(
    db,
    sql`recounted.changes is distinct from present.changes
      or counted_at < now() - make_interval(hours => ${RECOUNT_HOURS})`,
  );
  for (const partition of partitions) {
    if (signal.aborted || performance.now() - began > ROUND_MS) break;
    differences.push(...((await keepRecount(db, partition, signal)) ?? []));
  }
  return differences;
}

/** Counts a partition again and keeps the result. Undefined if it does not exist any more. */
export async function keepRecount(db: Db, partition: string, signal?: AbortSignal) {
  const counted = await count(db, partition, signal);
  if (counted === undefined) return undefined;
  await db.transaction().execute(async (trx) => {
    await lockRow(trx, 'maintenance');
    const { countedTo: counted_to, era: counted_era, changes } = counted;
    const result = { counted_at: sql<Date>`now()`, counted_to, counted_era, changes };
    await trx
      .insertInto('delivery_recounts')
      .values({ partition, ...result })
      .onConflict((exists) => exists.column('partition').doUpdateSet(result))
      .execute();
    await trx.deleteFrom('delivery_sums').where('partition', '=', partition).execute();
    await run(trx)`
      insert into delivery_sums
      select * from jsonb_populate_recordset(null::delivery_sums, ${JSON.stringify(counted.sums)}::jsonb)`;
  });
  return differencesIn(counted.sums);
}

/**
 * Notes that a partition is dropped, whose sums are kept. False if they lack a row: it was stored since the recount, or
 * is not counted as an arrival yet.
 */
export async function markDropped(trx: Trx, partition: string): Promise<boolean> {
  const month = monthOf(partition);
  const { numUpdatedRows } = await trx
    .updateTable('delivery_recounts')
    .set({ dropped_at: sql`now()`, until: addMonths(month, 1) })
    .where('partition', '=', partition)
    .where(
      sql<boolean>`not exists (
        select from ${sql.id(partition)} where era > counted_era or era = counted_era and xid >= counted_to)`,
    )
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Counts partitions again, and keeps nothing. Returns the differences in them. */
export async function recount(db: Db, partitions: readonly string[]): Promise<readonly Difference[]> {
  const differences: Difference[] = [];
  for (const partition of partitions) {
    differences.push(...differencesIn((await count(db, partition))?.sums ?? []));
  }
  return differences;
}

interface Sum extends Omit<Difference, 'messageType'> {
  readonly message_type: string;
  readonly differs: boolean;
}

const differencesIn = (sums: readonly Sum[]): readonly Difference[] =>
  sums.flatMap(({ partition, source, message_type: messageType, missing, differs }) =>
    differs ? [{ partition, source, messageType, missing }] : [],
  );

const numbers = (each: (name: string) => RawBuilder<unknown>) => sql.join(NUMBERS.map(each));

/** Rows and arrivals are read at one moment: those that are not counted as arrivals yet are left out of both. */
async function count(db: Db, partition: string, signal?: AbortSignal) {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      using _cancelling = await cancelOn(signal, db, trx);
      const facts = await firstRow<{
        changes: string;
        bounds: string | null;
        next_xid: string;
        era: number;
      }>(trx)`
        select changes, pg_get_partition_constraintdef(partition::regclass) as bounds, next_xid::text, era
        from (${PARTITIONS}) as present, arrivals_progress
        where partition = ${partition}`;
      if (facts === undefined) return undefined;
      // Arrivals have the bounds of the partition if theirs have: months begin with an hour.
      const { sums } = await onlyRow<{ sums: Sum[] }>(trx)`
        with found as (
          select source, message_type, ${COUNT_DELIVERIES}, max(received_at) as last_received_at
          from ${sql.id(partition)}
          where (xid is null or era < ${facts.era} or xid < ${facts.next_xid}::xid8) and received_at >= ${KEPT_SINCE}
          group by source, message_type
        ), recorded (source, message_type, ${COUNTS}) as (
          select source, message_type, ${SUMS} from (select *, bucket as received_at from arrivals) as arrived
          where (${sql.raw(facts.bounds ?? 'true')}) and bucket >= ${KEPT_SINCE} group by source, message_type
        )
        select coalesce(jsonb_agg(sums), '[]') as sums from (
          select ${partition}::text as partition, source, message_type, found.last_received_at,
            ${numbers((name) => sql`coalesce(${sql.ref(`found.${name}`)}, 0) as ${sql.ref(name)}`)},
            coalesce(recorded.deliveries, 0) - coalesce(found.deliveries, 0) as missing,
            (${numbers((name) => sql.ref(`found.${name}`))})
              is distinct from (${numbers((name) => sql.ref(`recorded.${name}`))}) as differs
          from found full join recorded using (source, message_type)
        ) as sums`;
      // Rows of earlier transactions than `countedTo` are counted.
      return { changes: facts.changes, countedTo: facts.next_xid, era: facts.era, sums };
    });
}
