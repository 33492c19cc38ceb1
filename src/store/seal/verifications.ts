import { sql } from 'kysely';
import { readAnchors } from './anchors.ts';
import type { Db } from '../server/database.ts';
import { TILE_ENTRIES } from '../log/extend-log.ts';
import { firstUnsignedAt } from './read-seals.ts';
import { latestCheckpoint, readSealState } from './seal-log.ts';
import type { Positions } from './sealed-rows.ts';
import { allRows, onlyRow } from '../server/statement.ts';

/** Leaves that are verified together. */
export const CHUNK_LEAVES = 32 * TILE_ENTRIES;

export interface CountedEvents {
  readonly source: string;
  readonly messageType: string;
  readonly events: number;
}

export interface VerifiedEvents extends CountedEvents {
  readonly expired: number;
  readonly erased: number;
  readonly altered: number;
  readonly missing: number;
}

/** What was found of the rows of some leaves. */
export interface Verification {
  readonly chunk: number;
  readonly leaves: number;
  /** Rows of any kind. */
  readonly altered: number;
  readonly missing: number;
  readonly events: readonly VerifiedEvents[];
}

export interface VerificationPace {
  /** Any leaves, by whatever process, after this time since the last ones. */
  readonly intervalSeconds: number;
  /** The same leaves after this time. */
  readonly restSeconds: number;
}

/**
 * The leaves to verify next, of a tree of a size: those that never were, else those that were verified longest ago. Undefined
 * if none are due.
 */
export async function nextToVerify(
  db: Db,
  size: number,
  { intervalSeconds, restSeconds }: VerificationPace,
): Promise<number | undefined> {
  const due = await onlyRow<{ next: number; oldest: number | null; isEarly: boolean }>(db)`
    select coalesce(max(chunk) + 1, 0)::float8 as next, (
        select chunk from log_verifications
        where verified_at not between now() - make_interval(secs => ${restSeconds}::float8) and now()
        order by verified_at limit 1)::float8 as oldest,
      coalesce(bool_or(verified_at > now() - make_interval(secs => ${intervalSeconds}::float8)
        and verified_at <= now()), false) as "isEarly"
    from log_verifications`;
  if (due.isEarly) return undefined;
  return due.next * CHUNK_LEAVES < size ? due.next : (due.oldest ?? undefined);
}

/** Counts the events that the log has at some positions, by source and message type. */
export async function countEntries(db: Db, { from, to }: Positions): Promise<readonly CountedEvents[]> {
  return allRows<CountedEvents>(db)`
    select source, message_type as "messageType", count(*)::int as events
    from log_tiles, unnest(kinds) with ordinality as entry (kind, number) join log_kinds using (kind)
    where first > ${from}::bigint - ${sql.lit(TILE_ENTRIES)} and first < ${to}::bigint
      and first + number - 1 >= ${from}::bigint and first + number - 1 < ${to}::bigint
    group by 1, 2`;
}

/** Keeps what was found, in place of what was found before. */
export async function keepVerification(db: Db, { chunk, leaves, altered, missing, events }: Verification) {
  await db.transaction().execute(async (trx) => {
    const found = { verified_at: sql<Date>`clock_timestamp()`, leaves, altered, missing };
    await trx
      .insertInto('log_verifications')
      .values({ chunk, ...found })
      .onConflict((conflict) => conflict.column('chunk').doUpdateSet(found))
      .execute();
    await trx.deleteFrom('log_verified_events').where('chunk', '=', String(chunk)).execute();
    if (events.length === 0) return;
    const rows = events.map(({ messageType, ...counts }) => ({
      chunk,
      message_type: messageType,
      intact: counts.events - counts.expired - counts.erased - counts.altered - counts.missing,
      ...counts,
    }));
    await trx.insertInto('log_verified_events').values(rows).execute();
  });
}

/** Reads what the service has found out about the stored rows by itself. */
export async function readVerified(db: Db) {
  const { since, last, ...counts } = await onlyRow<
    Record<'leaves' | 'altered' | 'missing', number> & Record<'since' | 'last', Date | null>
  >(db)`
    select coalesce(sum(leaves), 0)::float8 as leaves, coalesce(sum(altered), 0)::float8 as altered,
      coalesce(sum(missing), 0)::float8 as missing, min(verified_at) as since, max(verified_at) as last
    from log_verifications`;
  /** All leaves were compared after `since`, and some of them at `last`; undefined if none was yet. */
  return { ...counts, since: since ?? undefined, last: last ?? undefined };
}

/**
 * Reads how far the log is sealed, what was found, and who keeps checkpoints. `waiting` is the number of events without a leaf;
 * since `unsignedSince`, what is stored is in no checkpoint.
 */
export async function readSealFacts(db: Db) {
  const [checkpoint, { sealed, logged }, verified, anchors] = await Promise.all([
    latestCheckpoint(db),
    readSealState(db),
    readVerified(db),
    readAnchors(db),
  ]);
  const waiting = Math.max(0, logged.to - logged.from - (sealed.to - sealed.from));
  const unsignedSince = await firstUnsignedAt(db, checkpoint?.size ?? 0);
  return { checkpoint, waiting, unsignedSince, verified, anchors };
}

/** How the events of one range of positions compare with the seal. */
export interface SealedRange extends Positions {
  /** Events with a leaf, and those of them that were erased on request. */
  readonly sealed: number;
  readonly erased: number;
  /** Sealed events whose leaves were compared with the rows, and since when all of them were. */
  readonly compared: number;
  readonly comparedSince: Date | null;
  /** What was found in the chunks that it shares, also with other ranges, without those that are named. */
  readonly altered: number;
  readonly missing: number;
}

/**
 * Compares ranges of positions with the seal. `named`: chunks whose differences the caller knows row by row. The cost grows
 * with the number of runs of leaves, not of events.
 */
export async function readSealedRanges(db: Db, ranges: readonly Positions[], named: readonly number[]) {
  return allRows<SealedRange>(db)`
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
    ), unnamed as (
      select number, sum(altered) as altered, sum(missing) as missing
      from (
        select distinct number, chunk, altered, missing from runs join log_verifications
          on chunk between lower(runs.leaves) / ${CHUNK_LEAVES} and (upper(runs.leaves) - 1) / ${CHUNK_LEAVES}
        where altered + missing > 0 and chunk <> all (${named}::bigint[])) as one
      group by number
    )
    select low::float8 as from, high::float8 as to, coalesce(sealed, 0)::float8 as sealed,
      coalesce(erased, 0)::float8 as erased, coalesce(compared, 0)::float8 as compared,
      since as "comparedSince", coalesce(altered, 0)::float8 as altered, coalesce(missing, 0)::float8 as missing
    from ranges left join sealed using (number) left join compared using (number)
      left join unnamed using (number) order by number`;
}

/** The chunks of leaves in which something is altered or missing. */
export async function chunksWithDifferences(db: Db): Promise<readonly number[]> {
  const rows = await db
    .selectFrom('log_verifications')
    .select((eb) => eb.cast<number>('chunk', 'float8').as('chunk'))
    .where((eb) => eb.or([eb('altered', '>', 0), eb('missing', '>', 0)]))
    .orderBy('log_verifications.chunk')
    .execute();
  return rows.map(({ chunk }) => chunk);
}
