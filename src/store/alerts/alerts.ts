import { sql } from 'kysely';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import type { Db, Trx } from '../server/database.ts';
import { whileAlone } from '../server/locks.ts';
import { inScope, type Scope } from '../server/scope.ts';
import { run } from '../server/statement.ts';

/** An alert to store. Times are in ISO 8601. */
export interface NewAlert {
  readonly rule: string;
  readonly title: string;
  readonly severity: 'low' | 'medium' | 'high' | 'critical';
  readonly source: string;
  readonly group: Readonly<Record<string, string>>;
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly causes: readonly { readonly eventId: string; readonly occurredAt: string }[];
  /** Undefined: all. */
  readonly destinations?: readonly string[] | undefined;
}

export type RuleProgress = Awaited<ReturnType<typeof readRuleProgress>>;

export async function readRuleProgress(db: Db) {
  const { rules, position, changes } = await db
    .selectFrom('rule_progress')
    .select(['position', 'rules', 'changes'])
    .executeTakeFirstOrThrow();
  return {
    /** The rules that were on in the last step: the fingerprints of their settings by name. */
    rules,
    /** Undefined: no rule was ever on. */
    position: position === null ? undefined : Number(position),
    /** Grows with each step. */
    changes: Number(changes),
  };
}

/** Runs work as the only process that evaluates rules. Undefined, with nothing done, while another one does. */
export async function whileEvaluating<T>(db: Db, work: (trx: Trx, progress: RuleProgress) => Promise<T>) {
  return whileAlone(db, sql`rule_progress`, async (trx) => work(trx, await readRuleProgress(trx)));
}

/** Reads what the rules remember with the settings of these fingerprints. */
export async function readRuleStates(db: Db, rules: Readonly<Record<string, string>>) {
  return db
    .selectFrom('rule_states')
    .select(['rule', 'grouped_by as group', 'state'])
    .where('fingerprint', '=', fingerprintIn(rules))
    .execute();
}

/** The fingerprint of a row's rule; null if the rule is off. */
const fingerprintIn = (rules: Readonly<Record<string, string>>) =>
  sql<string>`(${JSON.stringify(rules)}::jsonb ->> rule)`;

interface RuleStep {
  /** Position of the next event. */
  readonly position: number;
  readonly rules: RuleProgress['rules'];
  /** What a rule remembers of a group, as JSON; undefined: nothing any more. */
  readonly states: readonly { readonly rule: string; readonly group: string; readonly state: unknown }[];
  readonly alerts: readonly NewAlert[];
}

/** Writes a step, in the transaction of `whileEvaluating`. States of rules that are off, or have other settings, go. */
export async function saveRuleStep(trx: Trx, { position, rules, states, alerts }: RuleStep): Promise<void> {
  const given = JSON.stringify(rules);
  await trx
    .deleteFrom('rule_states')
    .where('fingerprint', 'is distinct from', fingerprintIn(rules))
    .where((is) =>
      is(is.selectFrom('rule_progress').select('rules'), '<>', sql<typeof rules>`${given}::jsonb`),
    )
    .execute();
  const gone = states.filter(({ state }) => state === undefined);
  if (gone.length > 0) {
    await run(trx)`
      delete from rule_states using unnest(${gone.map(({ rule }) => rule)}::text[], ${gone.map(({ group }) => group)}::text[])
        as gone (rule, grouped_by)
      where rule_states.rule = gone.rule and rule_states.grouped_by = gone.grouped_by`;
  }
  const kept = states.filter(({ state }) => state !== undefined);
  if (kept.length > 0) {
    await run(trx)`
      insert into rule_states (rule, fingerprint, grouped_by, state)
      select rule, ${fingerprintIn(rules)}, grouped_by, state::jsonb
      from unnest(${kept.map(({ rule }) => rule)}::text[], ${kept.map(({ group }) => group)}::text[],
        ${kept.map(({ state }) => JSON.stringify(state))}::text[]) as kept (rule, grouped_by, state)
      on conflict (rule, grouped_by) do update set fingerprint = excluded.fingerprint, state = excluded.state`;
  }
  for (let done = 0; done < alerts.length; done += INSERTED_AT_ONCE) {
    await trx
      .insertInto('alerts')
      .values(alerts.slice(done, done + INSERTED_AT_ONCE).map(rowOf))
      .execute();
  }
  await trx
    .updateTable('rule_progress')
    .set({ position, rules: given, changes: sql`changes + 1`, evaluated_at: sql`now()` })
    .execute();
}

/** A statement has at most 65,535 values. */
const INSERTED_AT_ONCE = 1_000;

function rowOf(alert: NewAlert) {
  const { rule, title, severity, source, group, count, firstAt, lastAt, causes, destinations } = alert;
  const events = causes.map(({ eventId, occurredAt }) => ({ event_id: eventId, occurred_at: occurredAt }));
  return {
    rule,
    title,
    severity,
    source,
    grouped_by: JSON.stringify(group),
    event_count: count,
    first_at: firstAt,
    last_at: lastAt,
    causes: JSON.stringify(events),
    destinations: destinations === undefined ? null : [...destinations],
  };
}

export interface StoredAlert extends NewAlert {
  readonly id: string;
  /** ISO 8601. */
  readonly raisedAt: string;
}

/** Reads alerts that are not stored as events yet, the oldest of each source first: many of one hold up no other's. */
export const alertsToStore = (db: Db, limit: number): Promise<readonly StoredAlert[]> =>
  readAlerts(
    selectAlerts(db)
      .where('is_stored', '=', false)
      .orderBy((row) => row.fn.agg('row_number').over((of) => of.partitionBy('source').orderBy('id')))
      .orderBy('id')
      .limit(limit),
  );

/** Which alerts to list. The range is one of the times at which they were raised. */
export interface AlertFilter extends TimeRange {
  readonly rule?: string | undefined;
  readonly source?: string | undefined;
  readonly limit: number;
}

/** Reads raised alerts, newest first. */
export function listAlerts(db: Db, scope: Scope, { rule, source, since, until, limit }: AlertFilter) {
  let query = selectAlerts(db).where(inScope(scope)).orderBy('id', 'desc').limit(limit);
  if (rule !== undefined) query = query.where('rule', '=', rule);
  if (source !== undefined) query = query.where('source', '=', source);
  if (since !== undefined) query = query.where('raised_at', '>=', since);
  if (until !== undefined) query = query.where('raised_at', '<', until);
  return readAlerts(query);
}

const selectAlerts = (db: Db) =>
  db
    .selectFrom('alerts')
    .select(['id', 'rule', 'title', 'severity', 'source', 'grouped_by as group', 'event_count as count'])
    .select(['raised_at as raisedAt', 'first_at as firstAt', 'last_at as lastAt', 'causes', 'destinations']);

async function readAlerts(query: ReturnType<typeof selectAlerts>): Promise<readonly StoredAlert[]> {
  return (await query.execute()).map((row) => ({
    ...row,
    raisedAt: row.raisedAt.toISOString(),
    firstAt: row.firstAt.toISOString(),
    lastAt: row.lastAt.toISOString(),
    causes: row.causes.map((cause) => ({ eventId: cause.event_id, occurredAt: cause.occurred_at })),
    destinations: row.destinations ?? undefined,
  }));
}

/** Notes that alerts are stored as events. */
export async function markAlertsStored(db: Db, ids: readonly string[]): Promise<void> {
  await db
    .updateTable('alerts')
    .set({ is_stored: true })
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .execute();
}

/** When each rule raised its last alert, and how many in the last 30 days. */
export async function tallyAlerts(db: Db, scope: Scope) {
  return db
    .selectFrom('alerts')
    .select((row) => ['rule', row.fn.max('raised_at').as('last')])
    .select(
      sql<number>`(count(*) filter (where raised_at > now() - interval '30 days'))::float8`.as('recent'),
    )
    .where(inScope(scope))
    .groupBy('rule')
    .execute();
}

/** Events of the log that the rules have not seen, and since when the oldest of them waits; 0 while no rule is on. */
export async function ruleBacklog(db: Db): Promise<{ readonly events: number; readonly since: Date | null }> {
  const row = await db
    .selectFrom('rule_progress')
    .innerJoin('log_state', (join) => join.onTrue())
    .select([
      sql<number>`coalesce(next_position - position, 0)::float8`.as('events'),
      sql<Date | null>`case when position < next_position then evaluated_at end`.as('since'),
    ])
    .where('rules', '<>', sql<Record<string, string>>`'{}'`)
    .executeTakeFirst();
  return row ?? { events: 0, since: null };
}
