import { describe, expect, it } from 'vitest';
import { BUILT_IN_RULES } from '../../src/alerts/built-in-rules.ts';
import { createEvaluator } from '../../src/alerts/evaluate-rule.ts';
import type { Alert } from '../../src/alerts/rule-state.ts';
import { parseRules } from '../../src/alerts/parse-rules.ts';
import { forwardingSettings } from '../support/forwarding-settings.ts';
import { SHARED_ACCOUNT, simulate } from './simulated-year.ts';

/** A year with LONG_TESTS, else 42 days. */
const DAYS = process.env['LONG_TESTS'] === undefined ? 42 : 365;
const WEEKS = DAYS / 7;

/** An access point that falls silent is no attack. */
const ABOUT_ATTACKS = BUILT_IN_RULES.filter((rule) => rule.silent_for === undefined);

/** These rules, as the settings would have them after a backtest showed the shared account. */
const RULES = parseRules(
  forwardingSettings({
    alerts: ABOUT_ATTACKS.map(({ name }) =>
      name === 'identity-on-many-devices'
        ? { use: name, except: { users: [SHARED_ACCOUNT] } }
        : { use: name },
    ),
  }),
);

describe('the built-in rules', () => {
  it(`find ten attacks in ${DAYS} days of 500 access points, with at most one false alarm a week`, () => {
    const { events, attacks } = simulate(DAYS, 17);
    const evaluators = RULES.map((rule) => createEvaluator(rule, [], () => Infinity));
    const alerts: Alert[] = [];
    for (const event of events) {
      for (const evaluator of evaluators) {
        alerts.push(...evaluator.evaluate(event));
      }
    }
    const isOf = ({ causes }: Alert, ids: ReadonlySet<string>) =>
      causes.some(({ eventId }) => ids.has(eventId));
    const found = attacks.map(({ rule, eventIds }) => [
      rule,
      alerts.filter((alert) => alert.rule === rule && isOf(alert, eventIds)).length,
    ]);
    expect(found).toEqual(ABOUT_ATTACKS.map(({ name }) => [name, 1]));
    const isFalse = (alert: Alert) =>
      !attacks.some(({ rule, eventIds }) => rule === alert.rule && isOf(alert, eventIds));
    const wrong = alerts.filter(isFalse);
    const byRule = Object.entries(Object.groupBy(wrong, ({ rule }) => rule)).map(
      ([rule, list = []]) => `${list.length} of ${rule}`,
    );
    process.stdout.write(`${events.length} events, ${wrong.length} false alarms: ${byRule.join(', ')}\n`);
    expect(wrong.length).toBeLessThanOrEqual(WEEKS);
  }, 300_000);
});
