import { sql } from 'kysely';
import type { Db } from '../server/database.ts';
import { firstRow } from '../server/statement.ts';

/**
 * Takes the right to hand a checkpoint of so many leaves to an anchor, for one attempt. So many seconds lie between two
 * checkpoints at this anchor, and between two attempts. Resolves with the size that the anchor has; undefined
 * if it has this one, if its time has not come, or while another process tries. A time in the future, of a clock that ran
 * ahead, keeps nothing waiting.
 */
export async function claimAnchor(
  db: Db,
  anchor: string,
  size: number,
  everySeconds: number,
  retrySeconds: number,
): Promise<number | undefined> {
  const row = await firstRow<{ size: number }>(db)`
    insert into log_anchors (anchor, tried_at) values (${anchor}, now())
    on conflict (anchor) do update set tried_at = now()
      where log_anchors.size < ${size}::bigint
        and (log_anchors.error is null and log_anchors.anchored_at = log_anchors.tried_at
          or log_anchors.tried_at not between now() - make_interval(secs => ${retrySeconds}) and now())
        and coalesce(
          log_anchors.anchored_at not between now() - make_interval(secs => ${everySeconds}) and now(), true)
    returning size::float8`;
  return row?.size;
}

export async function recordAnchored(db: Db, anchor: string, size: number): Promise<void> {
  const now = sql<Date>`now()`;
  await db
    .updateTable('log_anchors')
    .set({ size, anchored_at: now, tried_at: now, error: null })
    .where('anchor', '=', anchor)
    .execute();
}

export async function recordAnchorFailure(db: Db, anchor: string, error: string): Promise<void> {
  await db.updateTable('log_anchors').set({ error }).where('anchor', '=', anchor).execute();
}

/**
 * Reads how far all anchors are, also those that are not set any more: `size` is that of the latest checkpoint that an anchor
 * has, and `error` says why its last attempt failed (null: it did not).
 */
export async function readAnchors(db: Db) {
  return db
    .selectFrom('log_anchors')
    .select((eb) => [
      'anchor',
      eb.cast<number>('size', 'float8').as('size'),
      'anchored_at as anchoredAt',
      'error',
    ])
    .orderBy('anchor')
    .execute();
}

/** The checkpoint as it was stamped, and the answer of the authority, in DER. */
export type StoredTimestamp = Awaited<ReturnType<typeof timestampsBetween>>[number];

/** Stores the time-stamp of a checkpoint. One of the same size stays. */
export async function addTimestamp(db: Db, { size, madeAt, note, token }: StoredTimestamp): Promise<void> {
  await db
    .insertInto('log_timestamps')
    .values({ size, made_at: madeAt, note, token })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Reads the time-stamps of trees larger than a size, up to another. */
export async function timestampsBetween(db: Db, above: number, upTo: number) {
  return db
    .selectFrom('log_timestamps')
    .select((eb) => [eb.cast<number>('size', 'float8').as('size'), 'made_at as madeAt', 'note', 'token'])
    .where('size', '>', String(above))
    .where('size', '<=', String(upTo))
    .orderBy('log_timestamps.size')
    .execute();
}

/** Appends the signature of a witness to a checkpoint, as a line of its note. */
export async function addCosignature(db: Db, size: number, line: string): Promise<void> {
  await db
    .updateTable('log_checkpoints')
    .set({ note: sql`note || ${`${line}\n`}` })
    .where('size', '=', String(size))
    .where(sql<boolean>`strpos(note, ${line}) = 0`)
    .execute();
}
