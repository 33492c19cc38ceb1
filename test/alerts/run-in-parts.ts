import type { AlertRule } from '../../src/alerts/alert-rule.ts';
import { createEvaluator } from '../../src/alerts/evaluate-rule.ts';
import { groupStateSchema, type Alert } from '../../src/alerts/rule-state.ts';
import type { StoredEvent } from '../../src/events/stored-event.ts';

/** The alerts of a rule that sees so many events at a time, and continues each time from what was saved, in any order. */
export function runInParts(rule: AlertRule, events: readonly StoredEvent[], size: number): readonly Alert[] {
  const kept = new Map<string, string>();
  const found: Alert[] = [];
  for (let at = 0; at < events.length; at += size) {
    const saved = [...kept]
      .toReversed()
      .map(([group, state]) => [group, groupStateSchema.parse(JSON.parse(state))] as const);
    const evaluator = createEvaluator(rule, saved, () => Infinity);
    found.push(...events.slice(at, at + size).flatMap((event) => evaluator.evaluate(event)));
    for (const [group, state] of evaluator.takeChanged()) {
      if (state === undefined) kept.delete(group);
      else kept.set(group, JSON.stringify(state));
    }
  }
  return found;
}
