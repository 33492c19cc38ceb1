import type { Db } from './database.ts';
import { allRows, firstRow, run } from './statement.ts';

/** How far a place that keeps checkpoints elsewhere is. */
export interface AnchorState {
  readonly anchor: string;
  /** Leaves of the latest checkpoint that it has. */
  readonly size: number;
  readonly anchoredAt: Date | null;
  /** Why the last attempt failed; null: it did not. */
  readonly error: string | null;
}

/** A checkpoint that an anchor does not have yet. */
export interface AnchorClaim {
  readonly anchor: string;
  /** Leaves of the checkpoint. */
  readonly size: number;
  /** Seconds between two checkpoints at this anchor, and between two attempts. */
  readonly everySeconds: number;
  readonly retrySeconds: number;
}

/**
 * Takes the right to hand a checkpoint to an anchor, for one attempt. Resolves with the size that the anchor has; undefined
 * if it has this one, if its time has not come, or while another process tries.
 */
export async function claimAnchor(db: Db, claim: AnchorClaim): Promise<number | undefined> {
  const { anchor, size, everySeconds, retrySeconds } = claim;
  const row = await firstRow<{ size: number }>(db)`
    insert into log_anchors (anchor, tried_at) values (${anchor}, now())
    on conflict (anchor) do update set tried_at = now()
      where log_anchors.size < ${size}::bigint
        and (log_anchors.error is null and log_anchors.anchored_at = log_anchors.tried_at
          or log_anchors.tried_at <= now() - make_interval(secs => ${retrySeconds}))
        and coalesce(log_anchors.anchored_at <= now() - make_interval(secs => ${everySeconds}), true)
    returning size::float8`;
  return row?.size;
}

/** Records that an anchor has a checkpoint. */
export async function recordAnchored(db: Db, anchor: string, size: number): Promise<void> {
  await run(db)`
    update log_anchors set size = ${size}::bigint, anchored_at = now(), tried_at = now(), error = null
    where anchor = ${anchor}`;
}

/** Records why an anchor did not accept a checkpoint. */
export async function recordAnchorFailure(db: Db, anchor: string, error: string): Promise<void> {
  await run(db)`update log_anchors set error = ${error} where anchor = ${anchor}`;
}

/** Reads how far all anchors are, also those that are not set any more. */
export async function readAnchors(db: Db): Promise<readonly AnchorState[]> {
  return allRows<AnchorState>(db)`
    select anchor, size::float8, anchored_at as "anchoredAt", error from log_anchors order by anchor`;
}

/** The time-stamp of a checkpoint. */
export interface StoredTimestamp {
  readonly size: number;
  readonly madeAt: Date;
  /** The checkpoint as it was stamped. */
  readonly note: string;
  /** The answer of the authority, in DER. */
  readonly token: Buffer;
}

/** Stores the time-stamp of a checkpoint. One of the same size stays. */
export async function addTimestamp(db: Db, { size, madeAt, note, token }: StoredTimestamp): Promise<void> {
  await run(db)`
    insert into log_timestamps (size, made_at, note, token)
    values (${size}::bigint, ${madeAt}, ${note}, ${token}) on conflict do nothing`;
}

/** Reads the time-stamps of trees larger than a size, up to another. */
export async function timestampsBetween(
  db: Db,
  above: number,
  upTo: number,
): Promise<readonly StoredTimestamp[]> {
  return allRows<StoredTimestamp>(db)`
    select size::float8, made_at as "madeAt", note, token from log_timestamps
    where size > ${above}::bigint and size <= ${upTo}::bigint order by size`;
}

/** Appends the signature of a witness to a checkpoint, as a line of its note. */
export async function addCosignature(db: Db, size: number, line: string): Promise<void> {
  await run(db)`update log_checkpoints set note = note || ${`${line}\n`}
    where size = ${size}::bigint and strpos(note, ${line}) = 0`;
}
