import { sql } from 'kysely';
import type { Db } from './database.ts';
import { findLongStoring } from '../log/horizon.ts';
import { describeSession, findHolders, SESSION_COLUMNS, type Session } from './server-sessions.ts';
import { allRows } from './statement.ts';

export interface Wait {
  readonly waiting: 'forwarding' | 'a statement';
  readonly session: Session;
}

/** Shorter waits are part of the work. */
const LONG_SECONDS = 10;

/**
 * The sessions that the service has been waiting for in this database for more than 10 s: transactions that store, which
 * forwarding, tail and counts wait for, and those whose locks a statement of this role needs.
 */
export async function findWaits(db: Db): Promise<readonly Wait[]> {
  const storing = await findLongStoring(db, LONG_SECONDS);
  const blockers = await findBlockers(db, LONG_SECONDS);
  return [
    ...storing.map((session) => ({ waiting: 'forwarding' as const, session })),
    ...blockers.map((session) => ({ waiting: 'a statement' as const, session })),
  ];
}

/** What the sessions of this role in this database have been waiting for during the last seconds. */
export async function findObstacles(db: Db, seconds: number) {
  const rows = await allRows(db)`
    select from pg_stat_activity
    where datname = current_database() and usename = current_user and wait_event = 'SyncRep'
      and state_change < clock_timestamp() - make_interval(secs => ${seconds})
    limit 1`;
  return {
    /** A commit waits until a synchronous standby has confirmed it. */
    standby: rows.length > 0,
    /** The sessions whose locks a statement needs. */
    blockers: await findBlockers(db, seconds),
  };
}

/** A table that a session has locked even for reading, in words; of several, that of the longest transaction. */
export async function describeTableLock(db: Db): Promise<string | undefined> {
  const rows = await allRows<Session & { readonly table: string }>(db)`
    select ${SESSION_COLUMNS}, relname as table
    from pg_locks as held
      join pg_class as locked on locked.oid = held.relation
      left join pg_stat_activity as activity on activity.pid = held.pid
    where held.database = (select oid from pg_database where datname = current_database())
      and held.granted and held.mode = 'AccessExclusiveLock' and relkind in ('r', 'p')
    order by activity.xact_start nulls first, relispartition, relname limit 1`;
  return rows.map((row) => `the table ${row.table} is locked by ${describeSession(row)}`)[0];
}

/** The sessions that make sessions of this role wait for a lock, and have done so for longer than this. */
async function findBlockers(db: Db, seconds: number): Promise<readonly Session[]> {
  return allRows<Session>(db)`
    select distinct on (activity.pid) ${SESSION_COLUMNS}
    from pg_stat_activity as waiting
      cross join unnest(pg_blocking_pids(waiting.pid)) as blocker (pid)
      left join pg_stat_activity as activity on activity.pid = blocker.pid
    where waiting.datname = current_database() and waiting.usename = current_user
      and waiting.wait_event_type = 'Lock'
      and waiting.query_start < clock_timestamp() - make_interval(secs => ${seconds})
      -- Of a queue, only its head is in the way.
      and activity.wait_event_type is distinct from 'Lock'
    order by activity.pid`;
}

/** The sessions that have used one of these tables, or a partition of it, in one transaction for more than 10 s. */
export async function findTableUsers(db: Db, tables: readonly string[]): Promise<readonly Session[]> {
  if (tables.length === 0) return [];
  const relations = sql`select relid from unnest(${tables}::text[]) as name, pg_partition_tree(name::regclass)`;
  return findHolders(db, relations, LONG_SECONDS);
}
