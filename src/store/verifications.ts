import { sql } from 'kysely';
import { readAnchors, type AnchorState } from './anchors.ts';
import type { Db, Trx } from './database.ts';
import { TILE_ENTRIES } from './extend-log.ts';
import { latestCheckpoint, readSealState, type StoredCheckpoint } from './seal-log.ts';
import type { Positions } from './sealed-rows.ts';

/** Leaves that are verified together. */
export const CHUNK_LEAVES = 32 * TILE_ENTRIES;

/** What was found of the events of one source and message type. */
export interface VerifiedEvents {
  readonly source: string;
  readonly messageType: string;
  readonly events: number;
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

/** When leaves are verified. */
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
  const { rows } = await sql<{ next: number; oldest: number | null; isEarly: boolean }>`
    select coalesce(max(chunk) + 1, 0)::float8 as next, (
        select chunk from log_verifications
        where verified_at <= now() - make_interval(secs => ${restSeconds}::float8)
        order by verified_at limit 1)::float8 as oldest,
      coalesce(max(verified_at) > now() - make_interval(secs => ${intervalSeconds}::float8), false) as "isEarly"
    from log_verifications`.execute(db);
  const { next = 0, oldest = null, isEarly = false } = rows[0] ?? {};
  if (isEarly) return undefined;
  return next * CHUNK_LEAVES < size ? next : (oldest ?? undefined);
}

/** Counts the events that the log has at some positions, by source and message type. */
export async function countEntries(
  db: Db,
  { from, to }: Positions,
): Promise<readonly Pick<VerifiedEvents, 'source' | 'messageType' | 'events'>[]> {
  const { rows } = await sql<Pick<VerifiedEvents, 'source' | 'messageType' | 'events'>>`
    select source, message_type as "messageType", count(*)::int as events
    from log_tiles, unnest(kinds) with ordinality as entry (kind, number) join log_kinds using (kind)
    where first >= ${Math.floor(from / TILE_ENTRIES) * TILE_ENTRIES}::bigint and first < ${to}::bigint
      and first + number - 1 >= ${from}::bigint and first + number - 1 < ${to}::bigint
    group by 1, 2`.execute(db);
  return rows;
}

/** Keeps what was found, in place of what was found before. */
export async function keepVerification(db: Db, found: Verification): Promise<void> {
  await db.transaction().execute((trx) => keep(trx, found));
}

async function keep(trx: Trx, { chunk, leaves, altered, missing, events }: Verification): Promise<void> {
  await sql`
    insert into log_verifications (chunk, verified_at, leaves, altered, missing)
    values (${chunk}::bigint, clock_timestamp(), ${leaves}, ${altered}, ${missing})
    on conflict (chunk) do update set verified_at = excluded.verified_at, leaves = excluded.leaves,
      altered = excluded.altered, missing = excluded.missing`.execute(trx);
  await sql`delete from log_verified_events where chunk = ${chunk}::bigint`.execute(trx);
  await sql`
    insert into log_verified_events
      (chunk, source, message_type, events, intact, expired, erased, altered, missing)
    select ${chunk}::bigint, source, "messageType", events, events - expired - erased - altered - missing, expired,
      erased, altered, missing
    from jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as one
      (source text, "messageType" text, events int, expired int, erased int, altered int, missing int)`.execute(
    trx,
  );
}

/** What the service has found out about the stored rows by itself. */
export interface VerifiedState {
  readonly leaves: number;
  readonly altered: number;
  readonly missing: number;
  /** All were compared after this time; undefined if nothing was yet. */
  readonly since: Date | undefined;
}

/** Reads what was found. */
export async function readVerified(db: Db): Promise<VerifiedState> {
  const { rows } = await sql<Omit<VerifiedState, 'since'> & { since: Date | null }>`
    select coalesce(sum(leaves), 0)::float8 as leaves, coalesce(sum(altered), 0)::float8 as altered,
      coalesce(sum(missing), 0)::float8 as missing, min(verified_at) as since from log_verifications`.execute(
    db,
  );
  const { leaves = 0, altered = 0, missing = 0, since = null } = rows[0] ?? {};
  return { leaves, altered, missing, since: since ?? undefined };
}

/** How far the log is sealed, what was found, and who keeps checkpoints. */
export interface StoredSeal {
  /** The latest one; undefined if there is none. */
  readonly checkpoint: StoredCheckpoint | undefined;
  /** Events in the log that have no leaf yet. */
  readonly waiting: number;
  readonly verified: VerifiedState;
  readonly anchors: readonly AnchorState[];
}

/** Reads how far the log is sealed. */
export async function readSealFacts(db: Db): Promise<StoredSeal> {
  const [checkpoint, { sealed, logged }, verified, anchors] = await Promise.all([
    latestCheckpoint(db),
    readSealState(db),
    readVerified(db),
    readAnchors(db),
  ]);
  return {
    checkpoint,
    waiting: Math.max(0, logged.to - logged.from - (sealed.to - sealed.from)),
    verified,
    anchors,
  };
}
