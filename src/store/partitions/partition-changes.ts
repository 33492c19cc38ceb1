import { sql } from 'kysely';
import { DatabaseError } from 'pg';
import { isLockTimeout } from '../server/postgres.ts';
import type { Db, Trx } from '../server/database.ts';
import { limitLockWait, lockRow } from '../server/locks.ts';
import { describeSession, findHolders, type Session } from '../server/server-sessions.ts';
import { run } from '../server/statement.ts';

/**
 * How long a change waits for the locks that it needs. Everybody else who needs the table queues behind it meanwhile,
 * so this is also the longest time that maintenance makes storing and the console wait for a reader.
 */
const LOCK_WAIT_MS = 300;

/** A change of the partitions; each is one transaction. */
export interface Change {
  readonly action: 'create' | 'drop';
  readonly table: string;
  readonly partition: string;
}

export interface BlockedChange extends Change {
  /** The sessions that use the table, longest first; empty if they have ended since. */
  readonly by: readonly Session[];
}

/** The change that waits, and the sessions that it waits for. */
export function describeBlocked({ action, table, partition, by }: BlockedChange): string {
  const sessions = by.map(describeSession).join('; ') || 'a session that has ended since';
  return `maintenance is waiting to ${action} ${partition}, because ${table} is in use: ${sessions}`;
}

/**
 * Makes a change in its own transaction, one process at a time: with the locks of two tables, it could deadlock
 * with a batch that inserts into both. Returns the change if it did not get its locks; nothing is changed then.
 */
export async function makeChange(
  db: Db,
  change: Change,
  work: (trx: Trx) => Promise<void>,
): Promise<readonly BlockedChange[]> {
  try {
    await db.transaction().execute(async (trx) => {
      await lockRow(trx, 'maintenance');
      await limitLockWait(trx, LOCK_WAIT_MS);
      await work(trx);
    });
    return [];
  } catch (error) {
    if (!isLockTimeout(error) && !(error instanceof LocksLateError)) throw error;
    const tables = sql`select relid from pg_partition_tree(${change.table})`;
    return [{ ...change, by: await findHolders(db, tables, LOCK_WAIT_MS / 1_000) }];
  }
}

/** The locks of a change came one by one, and together too late. */
class LocksLateError extends Error {
  override readonly name = 'LocksLateError';
}

/**
 * Locks these tables, and nothing below them, against everybody else. All together within 300 ms: a lock time-out is one
 * for each lock, and who waits for the first table waits for the others, too.
 */
export async function lockAtOnce(trx: Trx, tables: readonly string[]): Promise<void> {
  const limit = (ms: number) => run(trx)`select set_config('statement_timeout', ${String(ms)}, true)`;
  await limit(LOCK_WAIT_MS);
  await run(trx)`select lock_tables(${tables})`.catch((error: unknown) => {
    const isLate = error instanceof DatabaseError && error.code === '57014';
    throw isLate ? new LocksLateError('the locks were not available at once', { cause: error }) : error;
  });
  await limit(0);
}
