import {
  readRuleProgress,
  readRuleStates,
  saveRuleStep,
  whileEvaluating,
  type NewAlert,
  type RuleProgress,
} from '../store/alerts/alerts.ts';
import type { Db, Trx } from '../store/server/database.ts';
import { readSlice } from '../store/events/read-events.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import type { Log } from '../store/log/read-log.ts';
import { ALL_SOURCES } from '../store/server/scope.ts';
import { isRuleAlert } from '../events/stored-event.ts';
import { createEvaluator } from './evaluate-rule.ts';
import { groupStateSchema, type RuleEvaluator } from './rule-state.ts';
import { exactTerm, typesOfTerms } from '../events/search-query.ts';
import type { ConfiguredRule } from './parse-rules.ts';

const STEP_EVENTS = 1_000;

/**
 * Creates a runner. Any number of processes may have one: one at a time evaluates. A step commits what the rules remember,
 * the alerts that they raised and how far they are, all or nothing, so that each event counts once.
 */
export function createRuleRunner(db: Db, log: Log, onRaised: (rule: string) => void) {
  /** The evaluators after the step with this number; another process may have made the next one. */
  let kept: { readonly changes: number; readonly evaluators: ReadonlyMap<string, RuleEvaluator> } | undefined;

  async function evaluatorsFor(
    trx: Trx,
    { changes, rules: before }: RuleProgress,
    rules: readonly ConfiguredRule[],
    fingerprints: Readonly<Record<string, string>>,
  ): Promise<ReadonlyMap<string, RuleEvaluator>> {
    if (kept?.changes === changes && sameRules(before, fingerprints)) return kept.evaluators;
    const states = Map.groupBy(await readRuleStates(trx, fingerprints), ({ rule }) => rule);
    return new Map(
      rules.map((rule) => {
        const own = states.get(rule.name) ?? [];
        const saved = own.map(({ group, state }) => [group, groupStateSchema.parse(state)] as const);
        return [rule.name, createEvaluator(rule, saved)];
      }),
    );
  }

  async function evaluate(trx: Trx, progress: RuleProgress, rules: readonly ConfiguredRule[]) {
    const fingerprints = fingerprintsOf(rules);
    // The first rule begins with what enters the log from now on.
    const wasOn = Object.keys(progress.rules).length > 0;
    const position = wasOn ? progress.position : undefined;
    const start = position ?? (await log.range()).next;
    const evaluators = await evaluatorsFor(trx, progress, rules, fingerprints);
    kept = undefined;
    const types = rules.flatMap(({ filter }) => filter.flatMap(typesOfTerms));
    const terms = [exactTerm('type', ...new Set(types))];
    const { events, end, isFull } = await readSlice(log, ALL_SOURCES, start, STEP_EVENTS, { terms });
    if (end === undefined && wasOn && sameRules(progress.rules, fingerprints)) return { isFull, alerts: [] };
    const alerts: NewAlert[] = [];
    const timeSlice = new TimeSlice();
    for (const event of events) {
      if (timeSlice.isOver()) await timeSlice.rest();
      if (isRuleAlert(event)) continue;
      for (const rule of rules) {
        const raised = evaluators.get(rule.name)?.evaluate(event) ?? [];
        alerts.push(...raised.map((alert) => ({ ...alert, destinations: rule.destinations })));
      }
    }
    const states = [...evaluators].flatMap(([rule, evaluator]) =>
      [...evaluator.takeChanged()].map(([group, state]) => ({ rule, group, state })),
    );
    await saveRuleStep(trx, { position: end ?? start, rules: fingerprints, states, alerts });
    return { isFull, alerts, evaluators };
  }

  return {
    /** Evaluates the next events of the log. `more` if further ones wait, `idle` if there was none. */
    async step(rules: readonly ConfiguredRule[]): Promise<'more' | 'done' | 'idle'> {
      if (!(await hasWork(db, log, rules))) return 'idle';
      const done = await whileEvaluating(db, async (trx, progress) => ({
        ...(await evaluate(trx, progress, rules)),
        changes: progress.changes + 1,
      }));
      if (done === undefined) return 'done';
      const { changes, evaluators, alerts, isFull } = done;
      kept = evaluators && { changes, evaluators };
      for (const { rule } of alerts) onRaised(rule);
      return isFull ? 'more' : 'done';
    },
  };
}

/** Whether there are new events, or other rules than before. Looking takes no transaction id. */
async function hasWork(db: Db, log: Log, rules: readonly ConfiguredRule[]): Promise<boolean> {
  const progress = await readRuleProgress(db);
  if (!sameRules(progress.rules, fingerprintsOf(rules))) return true;
  return rules.length > 0 && (await log.range()).next > (progress.position ?? 0);
}

const fingerprintsOf = (rules: readonly ConfiguredRule[]): Readonly<Record<string, string>> =>
  Object.fromEntries(rules.map(({ name, fingerprint }) => [name, fingerprint]));

const sameRules = (one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>) =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([name, fingerprint]) => other[name] === fingerprint);
