import { sql } from 'kysely';
import type { Db } from '../server/database.ts';
import { SESSION_COLUMNS, type Session } from '../server/server-sessions.ts';
import { allRows, onlyRow } from '../server/statement.ts';

/**
 * What a transaction holds that stores deliveries or events: it took this lock before it got its transaction id
 * (`begin_storing`). A role that may only select cannot take it.
 */
const IS_STORING = sql`
  locktype = 'relation' and mode = 'RowExclusiveLock' and relation = 'deliveries'::regclass
  and database = (select oid from pg_database where datname = current_database())`;

/**
 * The horizon: the transaction id below which every row that will ever be stored is visible now, and to every later
 * statement. Readers that follow the rows by (xid, id) read below it, because transactions commit out of order.
 *
 * It is the first transaction id of those in progress that may still store; transactions that only read do not count,
 * whether or not they have an id. Why no row is missed:
 *
 * 1. The snapshot is taken when the statement begins, and `pg_locks` is read after it, once. An id below the
 *    snapshot's end that is not in its list has ended, and its rows are visible. So only ids of the list matter.
 * 2. An id of the list is passed over only if `pg_locks` shows who owns it, and that its owner does not hold the lock
 *    of those who store. `pg_locks` reads the weak locks of tables first and the locks of ids last. An owner seen with
 *    its id is thus still in progress; had it the lock when it got the id, it would have been seen with that too,
 *    since locks are kept until the end.
 * 3. Without that lock it cannot store any more: `begin_storing` refuses a transaction that already has an id.
 * 4. An id without an owner in `pg_locks` has just ended or is just being assigned: it counts, this once. So the horizon
 *    may be lower than an earlier one, which remains valid.
 *
 * A prepared transaction keeps its locks and its virtual transaction. A savepoint changes neither: rows carry the id of
 * the whole transaction. A standby's snapshots list no ids, and its transactions hold no locks: there, all count.
 */
export async function readHorizon(db: Db) {
  /** `isEarly`: rows beyond it may be visible, too: look again, also if nothing is stored until then. */
  return onlyRow<{ readonly xid: string; readonly isEarly: boolean }>(db)`
    with held as materialized (
      select virtualtransaction as holder, transactionid, ${IS_STORING} as is_storing
      from pg_locks
      where granted and (locktype = 'transactionid' and mode = 'ExclusiveLock' or ${IS_STORING})
    ), in_progress as (
      select xid from pg_snapshot_xip(pg_current_snapshot()) as xid
      where not exists (
        select from held where transactionid = xid::xid
          and holder not in (select holder from held where is_storing)
      )
      order by xid limit 1
    )
    select case when pg_is_in_recovery() then pg_snapshot_xmin(pg_current_snapshot())
      else coalesce((select xid from in_progress), pg_snapshot_xmax(pg_current_snapshot())) end::text as xid,
      exists (select from in_progress) as "isEarly"`;
}

/** Whether a transaction is storing, as an SQL condition. */
export const IS_ANYONE_STORING = sql`exists (select from pg_locks where granted and ${IS_STORING})`;

/** The sessions whose transactions have been storing for longer than this, longest first: readers wait for them. */
export async function findLongStoring(db: Db, seconds: number): Promise<readonly Session[]> {
  return allRows<Session>(db)`
    select ${SESSION_COLUMNS} from pg_locks as lock left join pg_stat_activity as activity on activity.pid = lock.pid
    where granted and ${IS_STORING} and (lock.pid is null or activity.pid is not null)
      and coalesce(xact_start < clock_timestamp() - make_interval(secs => ${seconds}), true)
    order by xact_start nulls first`;
}
