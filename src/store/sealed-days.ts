import { sql } from 'kysely';
import type { Db } from './database.ts';
import type { Positions } from './sealed-rows.ts';
import { CHUNK_LEAVES } from './verifications.ts';

/** How the events of one range of positions compare with the seal. */
export interface SealedRange extends Positions {
  /** Events with a leaf, and those of them that were erased lawfully. */
  readonly sealed: number;
  readonly erased: number;
  /** Sealed events whose leaves were compared with the rows, and since when all of them were. */
  readonly compared: number;
  readonly comparedSince: Date | null;
}

/** Compares ranges of positions with the seal. The cost grows with the number of runs of leaves, not of events. */
export async function readSealedRanges(
  db: Db,
  ranges: readonly Positions[],
): Promise<readonly SealedRange[]> {
  const { rows } = await sql<SealedRange>`
    with ranges as (
      select * from unnest(${ranges.map(({ from }) => from)}::bigint[], ${ranges.map(({ to }) => to)}::bigint[])
        with ordinality as one (low, high, number)
    ), runs as (
      select number, int8range(first_leaf + greatest(low - first_position, 0),
        first_leaf + least(high - first_position, leaves)) as leaves
      from ranges join log_seals
        on first_position < high and first_position + leaves > low and first_position >= coalesce(
          (select max(first_position) from log_seals where first_position <= low), low)
    ), sealed as (
      select number, sum(upper(leaves) - lower(leaves)) as sealed,
        sum((select sum(upper(gone * runs.leaves) - lower(gone * runs.leaves))
          from erasures, unnest(erasures.leaves) as gone where gone && runs.leaves)) as erased
      from runs group by number
    ), compared as (
      select number, min(verified_at) as since,
        sum(least(upper(runs.leaves), chunk * ${CHUNK_LEAVES} + found.leaves)
          - greatest(lower(runs.leaves), chunk * ${CHUNK_LEAVES})) as compared
      from runs join log_verifications as found
        on chunk between lower(runs.leaves) / ${CHUNK_LEAVES} and (upper(runs.leaves) - 1) / ${CHUNK_LEAVES}
          and chunk * ${CHUNK_LEAVES} + found.leaves > lower(runs.leaves)
      group by number
    )
    select low::float8 as from, high::float8 as to, coalesce(sealed, 0)::float8 as sealed,
      coalesce(erased, 0)::float8 as erased, coalesce(compared, 0)::float8 as compared,
      since as "comparedSince"
    from ranges left join sealed using (number) left join compared using (number) order by number`.execute(
    db,
  );
  return rows;
}

/** The chunks of leaves in which something is altered or missing. */
export async function chunksWithDifferences(db: Db, limit: number): Promise<readonly number[]> {
  const { rows } = await sql<{ chunk: number }>`
    select chunk::float8 from log_verifications where altered + missing > 0 order by chunk limit ${limit}`.execute(
    db,
  );
  return rows.map(({ chunk }) => chunk);
}
