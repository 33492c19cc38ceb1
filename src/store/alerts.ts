import { sql, type RawBuilder } from 'kysely';
import type { Db, Trx } from './database.ts';
import { isoTime } from './event-rows.ts';
import { whileAlone } from './locks.ts';
import { inScope, type Scope } from './scope.ts';
import { allRows, firstRow, onlyRow, run } from './statement.ts';

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

/** How far the rules are. */
export interface RuleProgress {
  /** Undefined: no rule was ever on. */
  readonly position: number | undefined;
  /** The rules that were on in the last step: the fingerprints of their settings by name. */
  readonly rules: Readonly<Record<string, string>>;
  /** Grows with each step. */
  readonly changes: number;
}

/** Reads how far the rules are. */
export async function readRuleProgress(db: Db): Promise<RuleProgress> {
  const row = await onlyRow<{ position: number | null; rules: Record<string, string>; changes: number }>(db)`
    select position::float8, rules, changes::float8 from rule_progress`;
  return { ...row, position: row.position ?? undefined };
}

/** Runs work as the only process that evaluates rules. Undefined, with nothing done, while another one does. */
export async function whileEvaluating<T>(
  db: Db,
  work: (trx: Trx, progress: RuleProgress) => Promise<T>,
): Promise<T | undefined> {
  return whileAlone(db, sql`rule_progress`, async (trx) => work(trx, await readRuleProgress(trx)));
}

/** What a rule remembers of a group, as JSON; undefined: nothing any more. */
export interface RuleState {
  readonly rule: string;
  readonly group: string;
  readonly state: unknown;
}

/** Reads what the rules remember with the settings of these fingerprints. */
export async function readRuleStates(
  db: Db,
  rules: Readonly<Record<string, string>>,
): Promise<readonly RuleState[]> {
  return allRows<RuleState>(db)`
    select rule, grouped_by as "group", state from rule_states
    where fingerprint = (${JSON.stringify(rules)}::jsonb ->> rule)`;
}

/** What a step of the rules has changed. */
export interface RuleStep {
  /** Position of the next event. */
  readonly position: number;
  readonly rules: Readonly<Record<string, string>>;
  readonly states: readonly RuleState[];
  readonly alerts: readonly NewAlert[];
}

/** Writes a step, in the transaction of `whileEvaluating`. States of rules that are off, or have other settings, go. */
export async function saveRuleStep(trx: Trx, { position, rules, states, alerts }: RuleStep): Promise<void> {
  const given = JSON.stringify(rules);
  await run(trx)`
    delete from rule_states where fingerprint is distinct from (${given}::jsonb ->> rule)
      and (select rules from rule_progress) <> ${given}::jsonb`;
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
      select rule, ${given}::jsonb ->> rule, grouped_by, state::jsonb
      from unnest(${kept.map(({ rule }) => rule)}::text[], ${kept.map(({ group }) => group)}::text[],
        ${kept.map(({ state }) => JSON.stringify(state))}::text[]) as kept (rule, grouped_by, state)
      on conflict (rule, grouped_by) do update set fingerprint = excluded.fingerprint, state = excluded.state`;
  }
  for (const alert of alerts) await insertAlert(trx, alert);
  await run(trx)`
    update rule_progress set position = ${position}::bigint, rules = ${given}::jsonb, changes = changes + 1,
      evaluated_at = now()`;
}

async function insertAlert(trx: Trx, alert: NewAlert): Promise<void> {
  const { rule, title, severity, source, group, count, firstAt, lastAt, causes, destinations } = alert;
  const events = causes.map(({ eventId, occurredAt }) => ({ event_id: eventId, occurred_at: occurredAt }));
  await run(trx)`
    insert into alerts (rule, title, severity, source, grouped_by, event_count, first_at, last_at, causes, destinations)
    values (${rule}, ${title}, ${severity}, ${source}, ${JSON.stringify(group)}::jsonb, ${count}::int, ${firstAt}::timestamptz,
      ${lastAt}::timestamptz, ${JSON.stringify(events)}::jsonb, ${destinations ?? null}::text[])`;
}

/** A stored alert. */
export interface StoredAlert extends NewAlert {
  readonly id: string;
  /** ISO 8601. */
  readonly raisedAt: string;
}

/** Reads alerts that are not stored as events yet, the oldest first. */
export const alertsToStore = (db: Db, limit: number): Promise<readonly StoredAlert[]> =>
  readAlerts(db, sql`not is_stored order by id limit ${limit}`);

/** Which alerts to list. The range is one of the times at which they were raised. */
export interface AlertFilter {
  readonly rule?: string | undefined;
  readonly source?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly limit: number;
}

/** Reads raised alerts, newest first. */
export function listAlerts(
  db: Db,
  scope: Scope,
  { rule, source, since, until, limit }: AlertFilter,
): Promise<readonly StoredAlert[]> {
  const conditions = [inScope(scope)];
  if (rule !== undefined) conditions.push(sql`rule = ${rule}`);
  if (source !== undefined) conditions.push(sql`source = ${source}`);
  if (since !== undefined) conditions.push(sql`raised_at >= ${since}::timestamptz`);
  if (until !== undefined) conditions.push(sql`raised_at < ${until}::timestamptz`);
  return readAlerts(db, sql`${sql.join(conditions, sql` and `)} order by id desc limit ${limit}`);
}

async function readAlerts(db: Db, wanted: RawBuilder<unknown>): Promise<readonly StoredAlert[]> {
  const rows = await allRows<StoredAlert>(db)`
    select id::text, ${isoTime('raised_at')} as "raisedAt", rule, title, severity, source, grouped_by as "group",
      event_count as count, ${isoTime('first_at')} as "firstAt", ${isoTime('last_at')} as "lastAt", (
        select coalesce(jsonb_agg(jsonb_build_object('eventId', cause->>'event_id', 'occurredAt', cause->>'occurred_at')), '[]')
        from jsonb_array_elements(causes) as cause) as causes, destinations
    from alerts where ${wanted}`;
  return rows.map(({ destinations, ...alert }) => ({ ...alert, destinations: destinations ?? undefined }));
}

/** Notes that alerts are stored as events. */
export async function markAlertsStored(db: Db, ids: readonly string[]): Promise<void> {
  await run(db)`update alerts set is_stored = true where id = any(${ids}::bigint[])`;
}

/** How often a rule raised alerts. */
export interface RuleTally {
  readonly rule: string;
  readonly last: Date;
  /** In the last 30 days. */
  readonly recent: number;
}

/** Counts the alerts of each rule. */
export async function tallyAlerts(db: Db, scope: Scope): Promise<readonly RuleTally[]> {
  return allRows<RuleTally>(db)`
    select rule, max(raised_at) as last,
      (count(*) filter (where raised_at > now() - interval '30 days'))::float8 as recent
    from alerts where ${inScope(scope)} group by rule`;
}

/** Events of the log that the rules have not seen, and since when the oldest of them waits; 0 while no rule is on. */
export async function ruleBacklog(db: Db): Promise<{ readonly events: number; readonly since: Date | null }> {
  const row = await firstRow<{ events: number; since: Date | null }>(db)`
    select coalesce(next_position - position, 0)::float8 as events, case when position < next_position then evaluated_at end as since
    from rule_progress cross join log_state where rules <> '{}'`;
  return row ?? { events: 0, since: null };
}
