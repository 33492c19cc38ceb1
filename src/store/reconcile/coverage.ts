import { sql } from 'kysely';
import type { Db } from '../server/database.ts';
import type { HistoryRange } from './history.ts';
import { inScope, isSource, type Scope } from '../server/scope.ts';
import { allRows, run } from '../server/statement.ts';
import type { CoverageDoubt, CoverageState } from '../server/schema/cloud-tables.ts';

/**
 * The result of all comparisons of one quarter so far. `healed` events were missing and were fetched; `matched` are on both
 * sides, and `onlyWebhook` without a log record, as of the last comparison. Since `agreedAt`, no comparison has found a
 * difference; null: the last one did. `reason`: why it is not comparable.
 */
export type ComparedQuarter = Awaited<ReturnType<ReturnType<typeof selectCompared>['execute']>>[number];

const selectCompared = (db: Db) =>
  db
    .selectFrom('coverage')
    .select(['quarter', 'state', 'reason', 'healed', 'matched', 'only_webhook as onlyWebhook'])
    .select(['compared_at as comparedAt', 'agreed_at as agreedAt']);

/**
 * Passes the quarters that begin in a range and were compared before to `decide`, and writes those that it returns, in one
 * transaction.
 */
export async function updateCoverage(
  db: Db,
  { source, messageType, from, to }: HistoryRange,
  decide: (before: readonly ComparedQuarter[]) => readonly ComparedQuarter[],
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const rows = await selectCompared(trx)
      .where('source', '=', source)
      .where('message_type', '=', messageType)
      .where('quarter', '>=', from)
      .where('quarter', '<', to)
      .forUpdate()
      .execute();
    const after = decide(rows);
    if (after.length === 0) return;
    await run(trx)`
      insert into coverage
      select ${source}, ${messageType}, one.* from jsonb_to_recordset(${JSON.stringify(after)}::jsonb) as one
        (quarter timestamptz, state text, healed int, matched int, "onlyWebhook" int, "comparedAt" timestamptz,
          "agreedAt" timestamptz, reason text)
      on conflict (source, message_type, quarter) do update set
        state = excluded.state, healed = excluded.healed, matched = excluded.matched,
        only_webhook = excluded.only_webhook, compared_at = excluded.compared_at,
        agreed_at = excluded.agreed_at, reason = excluded.reason`;
  });
}

export interface CoverageFilter {
  /** Inclusive: also the quarter that it is in. */
  readonly since: Date;
  /** Exclusive. */
  readonly until: Date;
  readonly source?: string | undefined;
  readonly messageTypes?: readonly string[] | undefined;
}

/** The number of quarters in each state on one day, of one source and message type. */
export interface DayCoverage {
  /** In UTC: `2026-01-31`. */
  readonly day: string;
  readonly source: string;
  readonly message_type: string;
  readonly whole: number;
  readonly healed: number;
  readonly push_only: number;
  readonly not_comparable: number;
  readonly unrecoverable: number;
  readonly pending: number;
  /** Events that were missing and were fetched. */
  readonly healed_events: number;
  /** Why quarters are not comparable. */
  readonly reasons: CoverageDoubt[];
}

/** The quarters in a range, since the first arrival of each source and message type, by day. */
export async function readCoverageByDay(db: Db, scope: Scope, filter: CoverageFilter) {
  const count = (state: CoverageState) => sql`count(*) filter (where state = ${state})::int`;
  return allRows<DayCoverage>(db)`
    select to_char(quarter at time zone 'UTC', 'YYYY-MM-DD') as day, source, message_type,
      ${count('whole')} as whole, ${count('healed')} as healed, ${count('push only')} as push_only,
      ${count('not comparable')} as not_comparable, ${count('unrecoverable')} as unrecoverable, ${count('pending')} as pending,
      sum(healed)::float8 as healed_events,
      coalesce(json_agg(distinct reason) filter (where state = 'not comparable'), '[]') as reasons
    from ${quartersOf(scope, filter)} group by 1, 2, 3 order by 1, 2, 3`;
}

/** The states of the compared quarters of one day, of all message types of a source. */
export interface ComparedDay extends Pick<DayCoverage, 'source' | 'day'> {
  readonly states: readonly CoverageState[];
}

/**
 * The days since `since` on which anything was compared, of all sources. Unlike `readCoverageByDay`, it reads only the
 * quarters that were: of 500 sources with 7 types, those of 30 days are ten million.
 */
export async function readComparedDays(db: Db, since: Date): Promise<ComparedDay[]> {
  return allRows<ComparedDay>(db)`
    select source, to_char(quarter at time zone 'UTC', 'YYYY-MM-DD') as day, array_agg(distinct state) as states
    from arrival_totals join lateral (
      select quarter, case
        when message_type = 'AUTHENTICATION_LOG_ALL' and quarter < now() - interval '7 days'
          and state not in ('whole', 'healed') then 'unrecoverable' else state end as state
      from coverage
      where coverage.source = arrival_totals.source and coverage.message_type = arrival_totals.message_type
        and quarter >= ${since}) as compared on true
    group by 1, 2`;
}

/** When a quarter of a source that began after `since` was last compared with the cloud; null: none was. */
export async function readLastComparison(db: Db, source: string, since: Date): Promise<Date | null> {
  const row = await db
    .selectFrom('coverage')
    .select((quarter) => quarter.fn.max('compared_at').as('at'))
    .where('source', '=', source)
    .where('quarter', '>=', since)
    .executeTakeFirst();
  return row?.at ?? null;
}

/** The next sources by name after one, of which anything arrived or is subscribed to. */
export async function listSourcesAfter(db: Db, scope: Scope, after: string, limit: number) {
  const rows = await allRows<{ source: string }>(db)`
    select source from (select source from arrival_totals union select source from subscriptions) as known
    where ${inScope(scope)} and source > ${after} order by source limit ${limit}`;
  return rows.map(({ source }) => source);
}

export interface StateCount {
  readonly source: string;
  readonly message_type: string;
  readonly state: CoverageState;
  readonly quarters: number;
}

/** The number of quarters in each state in the last 24 hours. */
export async function countRecentCoverage(db: Db): Promise<StateCount[]> {
  return allRows<StateCount>(db)`
    select source, message_type, state, count(*)::int as quarters
    from coverage_between(now() - interval '24 hours', now()) group by 1, 2, 3 order by 1, 2, 3`;
}

export interface QuarterCoverage extends Pick<DayCoverage, 'source' | 'message_type'> {
  readonly quarter: Date;
  readonly state: CoverageState;
  /** Why it is not comparable. */
  readonly reason: CoverageDoubt | null;
  /** Events that were missing and were fetched. */
  readonly healed: number;
}

/** The quarters in a range, in order, by source and message type. */
export async function readQuarters(db: Db, scope: Scope, filter: CoverageFilter): Promise<QuarterCoverage[]> {
  return allRows<QuarterCoverage>(db)`
    select quarter, source, message_type, state, healed, reason
    from ${quartersOf(scope, filter)} order by source, message_type, quarter`;
}

const quartersOf = (scope: Scope, { since, until, source, messageTypes }: CoverageFilter) => sql`(
  select * from coverage_between(${since}, ${until})
  where ${inScope(scope)} and ${isSource(source)}
    and ${messageTypes === undefined ? sql`true` : sql`message_type = any(${messageTypes}::text[])`}) as quarters`;
