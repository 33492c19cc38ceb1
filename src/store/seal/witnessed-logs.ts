import { sql } from 'kysely';
import type { Db } from '../server/database.ts';

/** Reads the checkpoint that was signed last of another log, by the public key of the log. */
export async function readWitnessed(db: Db, publicKey: string): Promise<string | undefined> {
  const query = db.selectFrom('witnessed_logs').select('note').where('public_key', '=', publicKey);
  return (await query.executeTakeFirst())?.note;
}

/** Replaces that checkpoint. Of all processes that have seen `before`, one does so. Resolves with whether it is this one. */
export async function replaceWitnessed(
  db: Db,
  publicKey: string,
  before: string | undefined,
  note: string,
): Promise<boolean> {
  const next = { note, signed_at: sql<Date>`now()` };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('witnessed_logs')
    .values({ public_key: publicKey, ...next })
    .onConflict((conflict) =>
      conflict
        .column('public_key')
        .doUpdateSet(next)
        .where('witnessed_logs.note', '=', before ?? ''),
    )
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/** Keeps what proves that a log has forked: the first proof alone. */
export async function keepFork(db: Db, publicKey: string, fork: string): Promise<void> {
  await db
    .updateTable('witnessed_logs')
    .set({ fork, fork_found_at: sql`now()` })
    .where('public_key', '=', publicKey)
    .where('fork', 'is', null)
    .execute();
}

/** Reads which of these public keys are of logs that have forked. */
export async function readForks(db: Db, publicKeys: readonly string[]): Promise<readonly string[]> {
  const query = db.selectFrom('witnessed_logs').select('public_key').where('fork', 'is not', null);
  const rows = await query.execute();
  return publicKeys.filter((key) => rows.some((row) => row.public_key === key));
}
