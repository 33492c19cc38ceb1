import type { Db } from '../../store/database.ts';
import { readRuleEvents, type RuleCondition, type RuleGroups } from '../../store/rule-events.ts';
import type { Scope } from '../../store/scope.ts';
import { codesOf } from '../../record-kind.ts';
import type { AlertRule, RuleFilter } from './alert-rule.ts';
import { createEvaluator, longestQuiet, type Alert } from './evaluate-rule.ts';
import { ruleTypesOf } from './match-event.ts';

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
    conditions: rule.filter.map(conditionOf),
    groups: groupsOf(rule),
  };
  for await (const event of readRuleEvents(db, scope, search, signal)) {
    onEvent?.();
    const alert = evaluator.evaluate(event);
    if (alert !== undefined && Date.parse(alert.lastAt) >= since.getTime()) yield alert;
  }
}

/** How far before an event others can matter, in milliseconds. */
function lookBack(rule: AlertRule): number {
  const { within = 0, first_seen: first } = rule;
  return within + longestQuiet(rule) + (first === undefined ? 0 : first.within + first.learning);
}

function conditionOf(filter: RuleFilter): RuleCondition {
  const { users, where = {}, kinds, search = [] } = filter;
  const codes = filter.codes ?? (kinds === undefined ? undefined : codesOf(kinds));
  const texts = Object.entries(where).map(([column, patterns = []]) => [column, patterns] as const);
  const ofUsers = users === undefined ? [] : [['user_name', users] as const];
  const named = Object.fromEntries([...ofUsers, ...texts]);
  return { messageTypes: ruleTypesOf(filter), codes, where: named, terms: search };
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
