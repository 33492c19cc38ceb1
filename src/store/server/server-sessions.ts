import { sql, type RawBuilder } from 'kysely';
import { formatDuration } from '../../lib/text/units.ts';
import type { Db } from './database.ts';
import { allRows, onlyRow, run } from './statement.ts';

export interface Session {
  /** Null for a prepared transaction, which belongs to no session. */
  readonly pid: number | null;
  readonly application: string | null;
  readonly user: string | null;
  /** Seconds since its transaction began; null if this role may not see it. */
  readonly seconds: number | null;
  /** Such as `active` or `idle in transaction`; null if this role may not see it. */
  readonly state: string | null;
  /** The beginning of its last statement. */
  readonly query: string | null;
}

/** The columns of a Session, of the table `activity`. */
export const SESSION_COLUMNS = sql`
  activity.pid, activity.application_name as application, activity.usename as "user", activity.state,
  left(activity.query, 80) as query,
  extract(epoch from clock_timestamp() - activity.xact_start)::float8 as seconds`;

/** The session in a few words for a log: pid, application, user, and how long its transaction has been open. */
export function describeSession({ pid, application, user, query, seconds }: Session): string {
  if (pid === null) return 'a prepared transaction (see pg_prepared_xacts)';
  const since = seconds === null ? '' : `, in a transaction for ${formatDuration(seconds)}`;
  // Only a process of the server has no user. Before Postgres 16, the service may not read what it does.
  const [, table] = /^autovacuum: \D*? (\w+\.\S+)/.exec(query ?? '') ?? [];
  if (table !== undefined) return `autovacuum of ${table} (pid ${pid})${since}`;
  const who = [application, user].filter((part) => part !== null && part !== '').join(', user ');
  return `pid ${pid} (${user === null ? 'a process of the server, such as autovacuum' : who})${since}`;
}

/** The same with the state of the session and the beginning of its statement, which may contain personal data. */
export function describeWork(session: Session): string {
  const { state, query } = session;
  const statement = (query ?? '').replaceAll(/\s+/g, ' ').trim();
  return [describeSession(session), ...(state === null ? [] : [`${state}: ${statement}`])].join('; ');
}

/** The sessions that hold a lock on one of these tables and have done so for longer than this, longest first. */
export async function findHolders(db: Db, tables: RawBuilder<unknown>, seconds: number) {
  return allRows<Session>(db)`
    select ${SESSION_COLUMNS} from pg_stat_activity as activity
    where activity.pid <> pg_backend_pid()
      and coalesce(xact_start < clock_timestamp() - make_interval(secs => ${seconds}), true)
      and activity.pid in (
        select pid from pg_locks
        where locktype = 'relation' and granted and relation in (${tables})
          and database = (select oid from pg_database where datname = current_database())
      )
    order by xact_start nulls first limit 5`;
}

/** A statement that begins just after a cancellation needs another one. */
const CANCEL_INTERVAL_MS = 200;

/**
 * Once the signal has fired, the server cancels each statement of this connection, by another connection of the database,
 * until the result is disposed of. Throws the signal's reason if it has fired already.
 */
export async function cancelOn(signal: AbortSignal | undefined, db: Db, connection: Db): Promise<Disposable> {
  const { pid } = await onlyRow<{ pid: number }>(connection)`select pg_backend_pid() as pid`;
  let timer: NodeJS.Timeout | undefined;
  const cancel = () => {
    // If the server does not answer, the work fails by that.
    void run(db)`select pg_cancel_backend(${pid})`.catch(() => undefined);
  };
  const onAbort = () => {
    cancel();
    timer = setInterval(cancel, CANCEL_INTERVAL_MS);
  };
  signal?.throwIfAborted();
  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    [Symbol.dispose]() {
      signal?.removeEventListener('abort', onAbort);
      clearInterval(timer);
    },
  };
}

/** Does work on one connection, whose statements the signal cancels. Throws the signal's reason then. */
export async function cancelledBy<T>(
  signal: AbortSignal | undefined,
  db: Db,
  connection: Db,
  work: () => Promise<T>,
): Promise<T> {
  using _cancelling = await cancelOn(signal, db, connection);
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
