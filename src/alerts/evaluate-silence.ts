import { z } from 'zod';
import { createReader } from '../events/match-search.ts';
import type { AlertRule } from './alert-rule.ts';
import { createMatch } from './match-rule.ts';
import {
  groupOf,
  MOST_GROUPS,
  shownValues,
  sourceOf,
  timesOf,
  toAlert,
  type Alert,
  type Cause,
  type GroupState,
  type RuleEvaluator,
  type SavedStates,
} from './rule-state.ts';

/** Of one event. The next ones raise the others, so that what one sender makes up delays no other's alerts for long. */
const MOST_AT_ONCE = 100;

/**
 * A source and its groups, the longest silent first. Its clock stops while nothing arrives from it: after an
 * outage, or a night in which it sends nothing, that time does not count as silence of its groups.
 */
interface Source {
  elapsed: number;
  received: number;
  readonly heard: Map<string, { readonly elapsed: number; readonly cause: Cause }>;
}

/** The values of a group, as its last event has them. */
const valuesSchema = z.array(z.string());

/**
 * Creates the evaluator of a rule with `silent_for`: it raises an alert when a group sent nothing for this many milliseconds
 * while others of its source did, and watches the group again once it sends. Only times of receipt count.
 */
export function createSilenceEvaluator(
  rule: AlertRule,
  silentFor: number,
  saved: SavedStates,
  now: () => number,
): RuleEvaluator {
  const matches = createMatch(rule);
  const readers = rule.group_by.map((column) => createReader(column, rule.time_zone));
  const sources = restore(saved);
  const changed = new Map<string, GroupState | undefined>();
  /** So much of a pause of the source counts. */
  const longestPause = silentFor / 4;

  function advance(name: string, received: number): Source {
    const source = sources.get(name) ?? { elapsed: 0, received, heard: new Map() };
    // A receipt by a clock that was ahead for a moment does not stop the source's until that time has come.
    const [last, next] = [Math.min(source.received, now()), Math.min(received, now())];
    source.elapsed += Math.min(Math.max(next - last, 0), longestPause);
    source.received = Math.max(last, next);
    sources.set(name, source);
    const { elapsed } = source;
    changed.set(groupOf(name, []), { causes: [], clock: { elapsed, received: source.received } });
    return source;
  }

  function hear({ heard, elapsed }: Source, group: string, cause: Cause): void {
    // Last in the order of the map, which `takeSilent` relies on.
    heard.delete(group);
    heard.set(group, { elapsed, cause });
    changed.set(group, { causes: [cause], heard: elapsed });
    const [oldest] = heard.size > MOST_GROUPS ? heard.keys() : [];
    if (oldest !== undefined) forget(heard, oldest);
  }

  function forget(heard: Source['heard'], group: string): void {
    heard.delete(group);
    changed.set(group, undefined);
  }

  function takeSilent(name: string, { heard, elapsed }: Source): readonly Alert[] {
    const alerts: Alert[] = [];
    for (const [group, last] of heard) {
      if (elapsed - last.elapsed < silentFor || alerts.length === MOST_AT_ONCE) break;
      forget(heard, group);
      alerts.push(toAlert(rule, name, valuesOf(last.cause), [last.cause]));
    }
    return alerts;
  }

  return {
    evaluate(event) {
      if (!matches(event)) return [];
      const values = readers.map((read) => read(event));
      if (values.includes(null)) return [];
      const { at, occurred, received } = timesOf(event);
      const source = advance(event.source, received);
      const cause = {
        at,
        ...(at !== occurred && { occurred }),
        id: event.eventId,
        value: JSON.stringify(shownValues(values)),
      };
      hear(source, groupOf(event.source, values), cause);
      return takeSilent(event.source, source);
    },
    takeChanged() {
      const taken = new Map(changed);
      changed.clear();
      return taken;
    },
  };
}

const valuesOf = ({ value = '[]' }: Cause) => valuesSchema.parse(JSON.parse(value));

function restore(saved: SavedStates): Map<string, Source> {
  const states = [...saved].map(([group, state]) => ({ group, state, name: sourceOf(group) }));
  const sources = new Map<string, Source>();
  for (const { name, state } of states) {
    if (state.clock !== undefined) sources.set(name, { ...state.clock, heard: new Map() });
  }
  for (const { name, group, state } of states.toSorted(
    (a, b) => (a.state.heard ?? 0) - (b.state.heard ?? 0),
  )) {
    const [cause] = state.causes;
    if (state.heard === undefined || cause === undefined) continue;
    sources.get(name)?.heard.set(group, { elapsed: state.heard, cause });
  }
  return sources;
}
