import { sql } from 'kysely';
import type { Db } from './database.ts';

/** A statement that begins just after a cancellation needs another one. */
const INTERVAL_MS = 200;

/**
 * Runs work on one connection. Once the signal has fired, the server cancels each of its statements, by another
 * connection of the database. Throws the signal's reason if it fires before the work is done.
 */
export async function cancelledBy<T>(
  signal: AbortSignal | undefined,
  db: Db,
  connection: Db,
  work: () => Promise<T>,
): Promise<T> {
  if (signal === undefined) return work();
  signal.throwIfAborted();
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(connection);
  let timer: NodeJS.Timeout | undefined;
  const cancel = () => {
    // If the server does not answer, the work fails by that.
    sql`select pg_cancel_backend(${rows[0]?.pid})`.execute(db).catch(() => undefined);
  };
  const onAbort = () => {
    cancel();
    timer = setInterval(cancel, INTERVAL_MS);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    clearInterval(timer);
  }
}
