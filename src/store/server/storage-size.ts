import { FAMILIES, type Family } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import { sumArchivedMonths } from '../archive/archived-files.ts';
import type { Db } from './database.ts';
import { MAX_DEFAULT_COUNT, PARTITIONED, readDefault } from '../partitions/partitioned-tables.ts';
import { allRows, onlyRow } from './statement.ts';

interface PartitionSize {
  readonly family: Family;
  readonly partition: string;
  /** The month in which the events occurred, `2026-01`; null for the default partition. */
  readonly month: string | null;
  /** The planner's estimate; null when the partition was never analyzed. */
  readonly rows: number | null;
  /** Including indexes and long values (TOAST). */
  readonly bytes: number;
  /** Whether any row was ever written there. */
  readonly isUsed: boolean;
}

export type StorageSize = Awaited<ReturnType<typeof measureStorage>>;

/** Measures the database and its partitions. Reads no events except in the default partitions, which contain few. */
export async function measureStorage(db: Db) {
  const [{ bytes: databaseBytes }, partitions, archivedMonths, counts] = await Promise.all([
    onlyRow<{ bytes: number }>(db)`select pg_database_size(current_database())::float8 as bytes`,
    measurePartitions(db),
    sumArchivedMonths(db),
    Promise.all(
      PARTITIONED.filter(({ keep }) => keep !== 'deliveries').map((table) => readDefault(db, table)),
    ),
  ]);
  const counted = counts.flat().reduce((sum, { rows }) => sum + rows, 0);
  return {
    databaseBytes,
    /** Ordered by family, then by time; the default partition comes last. */
    partitions,
    archivedMonths,
    /** Rows in default partitions, counted up to MAX_DEFAULT_COUNT + 1. */
    defaultRows: Math.min(counted, MAX_DEFAULT_COUNT + 1),
  };
}

async function measurePartitions(db: Db): Promise<PartitionSize[]> {
  const tables = Object.values(TABLE_OF);
  // The last known density times the present number of pages, as the planner estimates rows.
  const rows = await allRows<Omit<PartitionSize, 'family'> & { readonly table: string }>(db)`
    select parent.relname as table, child.relname as partition,
      replace(substring(child.relname from '^' || parent.relname || '_(\\d{4}_\\d\\d)$'), '_', '-') as month,
      round(case when pages = 0 then 0 when child.reltuples >= 0 and child.relpages > 0
        then child.reltuples / child.relpages * pages end)::float8 as rows,
      pg_total_relation_size(child.oid)::float8 as bytes, pages > 0 as "isUsed"
    from pg_inherits
    join pg_class as parent on parent.oid = inhparent
    join pg_class as child on child.oid = inhrelid
    cross join lateral (
      select pg_relation_size(child.oid) / current_setting('block_size')::int as pages
    ) as size
    where inhparent = any(${tables}::regclass[])
    order by child.relname`;
  return FAMILIES.flatMap((family) =>
    rows
      .filter(({ table }) => table === TABLE_OF[family])
      .map(({ table: _table, ...partition }) => ({ family, ...partition })),
  );
}
