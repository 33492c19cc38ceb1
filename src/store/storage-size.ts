import { sql } from 'kysely';
import { FAMILIES, type Family } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';

/** One partition of a table of events. */
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

/** The disk space of the database. */
export interface StorageSize {
  readonly databaseBytes: number;
  /** Ordered by family, then by time; the default partition comes last. */
  readonly partitions: readonly PartitionSize[];
  /** Rows in default partitions, counted up to MAX_DEFAULT_COUNT + 1. */
  readonly defaultRows: number;
}

/** A larger number would not change what to do. */
export const MAX_DEFAULT_COUNT = 10_000;

/** Measures the database and its partitions. Reads no events except in the default partitions, which contain few. */
export async function measureStorage(db: Db): Promise<StorageSize> {
  const [{ rows: total }, partitions, counts] = await Promise.all([
    sql<{ bytes: number }>`select pg_database_size(current_database())::float8 as bytes`.execute(db),
    measurePartitions(db),
    Promise.all(FAMILIES.map((family) => countDefault(db, family))),
  ]);
  const counted = counts.reduce((sum, count) => sum + count, 0);
  return {
    databaseBytes: total[0]?.bytes ?? 0,
    partitions,
    defaultRows: Math.min(counted, MAX_DEFAULT_COUNT + 1),
  };
}

interface MeasuredPartition {
  readonly table: string;
  readonly partition: string;
  readonly rows: number | null;
  readonly bytes: number;
  readonly is_used: boolean;
}

async function measurePartitions(db: Db): Promise<PartitionSize[]> {
  const tables = Object.values(TABLE_OF);
  // The last known density times the present number of pages, as the planner estimates rows.
  const { rows } = await sql<MeasuredPartition>`
    select parent.relname as table, child.relname as partition,
      case when pages = 0 then 0 when child.reltuples >= 0 and child.relpages > 0
        then child.reltuples / child.relpages * pages
        end::float8 as rows,
      pg_total_relation_size(child.oid)::float8 as bytes, pages > 0 as is_used
    from pg_inherits
    join pg_class as parent on parent.oid = inhparent
    join pg_class as child on child.oid = inhrelid
    cross join lateral (
      select pg_relation_size(child.oid) / current_setting('block_size')::int as pages
    ) as size
    where inhparent = any(${tables}::regclass[])
    order by child.relname`.execute(db);
  return FAMILIES.flatMap((family) =>
    rows
      .filter(({ table }) => table === TABLE_OF[family])
      .map(({ table, partition, rows: estimate, bytes, is_used: isUsed }) => ({
        family,
        partition,
        month: monthOf(table, partition),
        rows: estimate === null ? null : Math.round(estimate),
        bytes,
        isUsed,
      })),
  );
}

/** Names end in `_YYYY_MM`, or in `_default`, which sorts last. */
function monthOf(table: string, partition: string): string | null {
  const ending = partition.slice(table.length + 1);
  return /^\d{4}_\d\d$/.test(ending) ? ending.replace('_', '-') : null;
}

async function countDefault(db: Db, family: Family): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from ${sql.id(`${TABLE_OF[family]}_default`)} limit ${MAX_DEFAULT_COUNT + 1}
    ) as outside`.execute(db);
  return rows[0]?.count ?? 0;
}
