import { sql, type RawBuilder } from 'kysely';
import type { Family } from '../../events/domain.ts';
import { unionAll } from '../server/condition.ts';
import type { Db } from '../server/database.ts';
import { familyQueries, selectsOf, timeConditions } from '../events/event-filter.ts';
import type { RangeFilter } from '../events/event-histogram.ts';
import type { Scope } from '../server/scope.ts';
import { allRowsWithin } from '../server/statement.ts';

/** Counting that takes longer is given up: a page shows the rest. */
const TIMEOUT_MS = 2_000;

/** What an administrator did, by the audit codes of logins and keys; `others` are all further audit events. */
export interface AdministratorActivity {
  /** Null: the events have no user. */
  readonly user: string | null;
  readonly logins: number;
  readonly created: number;
  readonly deleted: number;
  readonly others: number;
}

/**
 * Counts the matching audit events by administrator, the most active first. Spellings of a
 * name that are the same person count together, as in a search. Undefined if counting takes longer than two seconds.
 */
export function countAdministrators(db: Db, scope: Scope, filter: RangeFilter, limit: number) {
  const read: ReadEvents = (events) => sql`
    select min(user_name) as user, (count(*) filter (where code = 10001))::float8 as logins,
      (count(*) filter (where code = 40001))::float8 as created,
      (count(*) filter (where code = 40003))::float8 as deleted,
      -- 10002 is a logout.
      (count(*) filter (where (code in (10001, 10002, 40001, 40003)) is not true))::float8 as others
    from ${events} group by fold_name(user_name) order by count(*) desc, 1 limit ${limit}`;
  return readFamily<AdministratorActivity>(db, scope, filter, 'audit', read);
}

export interface LoginCount {
  readonly ssid: string | null;
  readonly user: string | null;
  readonly count: number;
}

/** Counts the matching log events by SSID and user, the most frequent first. Undefined after two seconds. */
export function countLogins(db: Db, scope: Scope, filter: RangeFilter) {
  const read: ReadEvents = (events) => sql`
    select min(left(ssid, 64)) as ssid, min(username) as user, count(*)::float8 as count
    from ${events} group by lower(left(ssid, 64)), fold_name(username) order by 3 desc`;
  return readFamily<LoginCount>(db, scope, filter, 'log', read);
}

/** Counts the matching events that are alerts of rules, by rule. Undefined after two seconds. */
export function countRuleAlerts(db: Db, scope: Scope, filter: RangeFilter) {
  const read: ReadEvents = (events) => sql`
    select payload ->> 'rule' as rule, count(*)::float8 as count
    from ${events} where payload ? 'rule' group by 1 order by 2 desc, 1`;
  return readFamily<{ rule: string; count: number }>(db, scope, filter, 'other', read);
}

type ReadEvents = (events: RawBuilder<unknown>) => RawBuilder<unknown>;

/** Reads from the matching events of one family, which are passed as a subquery. */
async function readFamily<Row>(
  db: Db,
  scope: Scope,
  filter: RangeFilter,
  family: Family,
  read: ReadEvents,
): Promise<readonly Row[] | undefined> {
  const queries = familyQueries(scope, filter).filter((one) => one.family === family);
  if (queries.length === 0) return [];
  const events = unionAll(selectsOf(queries, timeConditions(filter), () => sql`*`));
  return allRowsWithin<Row>(db, TIMEOUT_MS)`${read(sql`(${events}) as events`)}`;
}
