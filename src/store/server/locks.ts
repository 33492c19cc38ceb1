import type { RawBuilder } from 'kysely';
import type { Db, Trx } from './database.ts';
import { allRows, run } from './statement.ts';

/*
 * One process at a time: a row of the table `locks`, locked until the transaction ends. Unlike an advisory lock, which
 * every role that may log in can take, it needs the privilege to update.
 */

/** Waits until no other transaction has locked the row, and locks it until this one ends. The row must exist. */
export async function lockRow(trx: Trx, name: string): Promise<void> {
  const row = await trx
    .selectFrom('locks')
    .select('name')
    .where('name', '=', name)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new Error(`the table locks has no row ${name}`);
}

/** Creates the row unless it exists, in its own transaction, so that nobody waits for its end. */
export async function createLock(db: Db, name: string): Promise<void> {
  await db
    .insertInto('locks')
    .values({ name })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * Runs work while rows are locked, as SQL after `from`. Undefined, with nothing done, while another transaction has locked all of
 * them.
 */
export async function whileAlone<T>(db: Db, rows: RawBuilder<unknown>, work: (trx: Trx) => Promise<T>) {
  return db.transaction().execute(async (trx) => {
    const locked = await allRows(trx)`select from ${rows} for update skip locked`;
    return locked.length === 0 ? undefined : work(trx);
  });
}

/** Limits how long a statement of this transaction waits for a lock, in milliseconds. */
export async function limitLockWait(trx: Trx, milliseconds: number): Promise<void> {
  await run(trx)`select set_config('lock_timeout', ${String(milliseconds)}, true)`;
}
