import type { Db } from '../store/server/database.ts';
import { readRuleEvents, type RuleGroups } from '../store/alerts/rule-events.ts';
import type { Scope } from '../store/server/scope.ts';
import type { AlertRule } from './alert-rule.ts';
import { createEvaluator, longestQuiet } from './evaluate-rule.ts';
import type { Alert } from './rule-state.ts';

/** The events to test a rule on. */
export interface BacktestRange {
  readonly source?: string | undefined;
  readonly since: Date;
  readonly until: Date;
}

/**
 * The alerts that a rule would have raised for the stored events of a range, by time. Events before the range are
 * evaluated too, as far as the rule looks back. Throws the signal's reason once it has fired.
 */
export async function* backtestRule(
  db: Db,
  scope: Scope,
  rule: AlertRule,
  { source, since, until }: BacktestRange,
  signal: AbortSignal,
  onEvent?: () => void,
): AsyncGenerator<Alert> {
  const evaluator = createEvaluator(rule);
  const search = {
    source,
    since: new Date(since.getTime() - lookBack(rule)),
    until,
    filters: rule.filter,
    groups: groupsOf(rule),
  };
  for await (const event of readRuleEvents(db, scope, search, signal)) {
    onEvent?.();
    const alerts = evaluator.evaluate(event);
    yield* alerts.filter(({ lastAt }) => Date.parse(lastAt) >= since.getTime());
  }
}

/** How far before an event others can matter, in milliseconds. */
function lookBack(rule: AlertRule): number {
  const { within = 0, first_seen: first } = rule;
  return within + longestQuiet(rule) + (first === undefined ? 0 : first.within + first.learning);
}

/** Undefined if a single event can raise an alert, or if all events are needed to know what is new. */
function groupsOf(rule: AlertRule): RuleGroups | undefined {
  const { within, count, distinct, apart, first_seen: first, group_by: columns } = rule;
  if (within === undefined || first !== undefined) return undefined;
  const shared = { columns, within, quiet: longestQuiet(rule) };
  if (apart !== undefined) return { ...shared, least: { metres: apart } };
  if (count === 1) return undefined;
  return { ...shared, least: distinct === undefined ? { events: count } : { values: count, of: distinct } };
}
