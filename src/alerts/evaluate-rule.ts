import { createReader } from '../events/match-search.ts';
import type { StoredEvent } from '../events/stored-event.ts';
import type { AlertRule } from './alert-rule.ts';
import { createSilenceEvaluator } from './evaluate-silence.ts';
import { createMatch, createUsual } from './match-rule.ts';
import {
  groupOf,
  keyOf,
  MOST_GROUPS,
  sourceOf,
  timesOf,
  toAlert,
  type Cause,
  type GroupState,
  type RuleEvaluator,
  type SavedStates,
} from './rule-state.ts';

/** Matches that continue without a pause of `within` are one alert, but at least one a day. */
const LONGEST_QUIET_MS = 86_400_000;

/** For how long after an alert its group may be quiet, in milliseconds. */
export const longestQuiet = ({ within = 0 }: AlertRule): number =>
  within === 0 ? 0 : Math.max(within, LONGEST_QUIET_MS);

/** Places that are kept of a group, beside each other in time. */
const MOST_PLACES = 200;
/** Beyond it, the values seen longest ago are forgotten. */
const MOST_VALUES = 1_000;
const METRES_PER_DEGREE = 111_195;

/** Creates the evaluator of a rule, which continues with the states of its groups. `now` is in epoch milliseconds. */
export const createEvaluator = (
  rule: AlertRule,
  saved: SavedStates = [],
  now: () => number = Date.now,
): RuleEvaluator =>
  rule.silent_for === undefined
    ? createEventEvaluator(rule, saved)
    : createSilenceEvaluator(rule, rule.silent_for, saved, now);

/** Evaluates what happened, not what failed to happen. */
function createEventEvaluator(rule: AlertRule, saved: SavedStates): RuleEvaluator {
  const matches = createMatch(rule);
  const isUsual = createUsual(rule);
  const readers = rule.group_by.map((column) => createReader(column, rule.time_zone));
  const readValue = createValueReader(rule);
  const readFirst = rule.first_seen?.of.map((column) => createReader(column, rule.time_zone));
  const within = rule.within ?? 0;
  const longest = Math.max(within, rule.first_seen?.within ?? 0);
  const remembers = within > 0 || rule.first_seen !== undefined;
  /** By source, those heard longest ago first. */
  const sources = new Map<string, Map<string, GroupState>>();
  const changed = new Map<string, GroupState | undefined>();
  let newest = 0;
  let sweptAt = 0;
  for (const [group, state] of [...saved].toSorted(([, one], [, other]) => lastOf(one) - lastOf(other))) {
    groupsIn(sourceOf(group)).set(group, state);
  }

  function groupsIn(source: string): Map<string, GroupState> {
    const groups = sources.get(source) ?? new Map<string, GroupState>();
    sources.set(source, groups);
    return groups;
  }

  function remember(groups: Map<string, GroupState>, group: string, state: GroupState): void {
    // Last in the order of the map.
    groups.delete(group);
    groups.set(group, state);
    changed.set(group, state);
    const [oldest] = groups.size > MOST_GROUPS ? groups.keys() : [];
    if (oldest !== undefined) forget(groups, oldest);
  }

  function forget(groups: Map<string, GroupState>, group: string): void {
    groups.delete(group);
    changed.set(group, undefined);
  }

  /** Whether the event has a value that its group did not have for so long. Remembers it. */
  function isFirst(state: GroupState, event: StoredEvent, at: number): boolean {
    if (rule.first_seen === undefined || readFirst === undefined) return true;
    const values = readFirst.map((read) => read(event));
    if (values.includes(null)) return false;
    const written = JSON.stringify(values);
    const value = keyOf(written);
    const seen = (state.seen ??= {});
    const since = Math.min(state.since ?? at, at);
    // What is older than all that the group remembers does not say since when it is known.
    if (lastOf(state) - at <= 2 * longest) state.since = since;
    const last = seen[value] ?? seen[written];
    seen[value] = Math.max(last ?? at, at);
    forgetValues(seen);
    const isKnown = at - since >= rule.first_seen.learning;
    return isKnown && (last === undefined || at - last > rule.first_seen.within);
  }

  /** The causes of an alert if this event completes one. Keeps what later ones may need. */
  function complete(state: GroupState, cause: Cause, received: number): readonly Cause[] | undefined {
    if (within === 0) return [cause];
    if (goesOn(state, cause)) return undefined;
    state.causes = insert(state.causes, cause);
    const found =
      rule.apart === undefined ? countWithin(state.causes, cause) : findApart(state.causes, cause);
    if (found === undefined) {
      state.causes = prune(state.causes, Math.min(state.causes.at(-1)?.at ?? 0, received) - 2 * within);
      return undefined;
    }
    state.causes = [];
    state.quietSince = cause.at;
    state.quietUntil = cause.at + within;
    return found;
  }

  /** Whether an event belongs to the last alert. Those that follow are compared with it. */
  function goesOn(state: GroupState, { at }: Cause): boolean {
    const { quietSince = -Infinity, quietUntil = -Infinity } = state;
    if (at > quietUntil) return false;
    state.quietUntil = Math.min(Math.max(quietUntil, at + within), quietSince + longestQuiet(rule));
    return true;
  }

  /** The events of a time span with the new one, if they are enough. */
  function countWithin(causes: readonly Cause[], { at }: Cause): readonly Cause[] | undefined {
    const near = causes.filter((one) => Math.abs(one.at - at) < within);
    const values = new Map<string | undefined, number>();
    let end = 0;
    for (const [start, first] of near.entries()) {
      if (first.at > at) break;
      for (let one = near[end]; one !== undefined && one.at - first.at < within; one = near[end]) {
        values.set(one.value, (values.get(one.value) ?? 0) + 1);
        end += 1;
      }
      const size = rule.distinct === undefined ? end - start : values.size;
      if (size >= rule.count) return near.slice(start, end);
      const others = (values.get(first.value) ?? 0) - 1;
      if (others === 0) values.delete(first.value);
      else values.set(first.value, others);
    }
    return undefined;
  }

  /** The place that is too far from the new one, and the new one. */
  function findApart(causes: readonly Cause[], cause: Cause): readonly Cause[] | undefined {
    const far = causes.find(
      (one) =>
        Math.abs(one.at - cause.at) < within &&
        metresBetween(one.value, cause.value) > (rule.apart ?? Infinity),
    );
    return far === undefined ? undefined : [far, cause].toSorted((a, b) => a.at - b.at);
  }

  function insert(causes: readonly Cause[], cause: Cause): Cause[] {
    // A value counts once, and of a client that stays where it is, one place is enough.
    const isSame = (one: Cause) =>
      rule.distinct !== undefined
        ? one.value === cause.value && one.at <= cause.at
        : rule.apart !== undefined && one.value === cause.value && Math.abs(one.at - cause.at) < within;
    const others = causes.filter((one) => !isSame(one));
    const at = others.findIndex((one) => one.at > cause.at);
    return others
      .toSpliced(at === -1 ? others.length : at, 0, cause)
      .slice(-Math.max(MOST_PLACES, 2 * rule.count));
  }

  /** The state of a group. After twice the longest time without an event, it is one that nothing is known of. */
  function knownState(state: GroupState | undefined, at: number): GroupState {
    return state === undefined || at - lastOf(state) > 2 * longest ? { causes: [] } : state;
  }

  /** Forgets what `knownState` would not return any more, also for an event that arrives late. */
  function forgetOldGroups(): void {
    // Looking at all groups costs as much as some events for each of them.
    if (newest - sweptAt < Math.max(longest / 4, 60_000)) return;
    const horizon = newest - 3 * longest;
    sweptAt = newest;
    for (const groups of sources.values()) {
      for (const [group, state] of groups) if (lastOf(state) < horizon) forget(groups, group);
    }
  }

  return {
    evaluate(stored) {
      const { at, occurred, received } = timesOf(stored);
      const isAhead = at !== occurred;
      const event = isAhead ? { ...stored, occurredAt: stored.receivedAt } : stored;
      if (!matches(event)) return [];
      // What happens in usual hours raises no alert, but a group's values are learned from it.
      const canRaise = !isUsual(event);
      if (!canRaise && rule.first_seen === undefined) return [];
      const values = readers.map((read) => read(event));
      if (values.includes(null)) return [];
      const value = readValue(event);
      if (value === null) return [];
      newest = Math.max(newest, Math.min(at, received));
      // Earlier programs remember a group by its values as they were written.
      const written = JSON.stringify([event.source, ...values]);
      const group = groupOf(event.source, values);
      const groups = groupsIn(event.source);
      const state = knownState(groups.get(group) ?? groups.get(written), at);
      const cause = {
        at,
        ...(isAhead && { occurred }),
        id: event.eventId,
        ...(value !== undefined && { value: keyOf(value) }),
      };
      const causes = isFirst(state, event, at) && canRaise ? complete(state, cause, received) : undefined;
      if (remembers) {
        remember(groups, group, state);
        forgetOldGroups();
      }
      return causes === undefined ? [] : [toAlert(rule, event.source, values, causes)];
    },
    takeChanged() {
      const taken = new Map(changed);
      changed.clear();
      return taken;
    },
  };
}

/** What is compared of an event: a column, a place, or nothing (undefined). Null: the event lacks it. */
function createValueReader({
  distinct,
  apart,
  time_zone: zone,
}: AlertRule): (event: StoredEvent) => string | null | undefined {
  if (distinct !== undefined) return createReader(distinct, zone);
  if (apart === undefined) return () => undefined;
  return ({ columns: { lat, lng } }) =>
    typeof lat === 'string' && typeof lng === 'string' ? `${lat} ${lng}` : null;
}

/** The time of the last event that a group remembers, or until when it is quiet. */
const lastOf = ({ causes, quietUntil = 0, seen = {} }: GroupState): number =>
  Math.max(quietUntil, causes.at(-1)?.at ?? 0, ...Object.values(seen));

/** Removes causes of before a time. */
const prune = (causes: readonly Cause[], before: number): Cause[] => causes.filter(({ at }) => at > before);

/** Forgets the values seen longest ago. */
function forgetValues(seen: Record<string, number>): void {
  const values = Object.entries(seen);
  if (values.length <= MOST_VALUES) return;
  for (const [value] of values.toSorted(([, a], [, b]) => a - b).slice(0, values.length - MOST_VALUES)) {
    delete seen[value];
  }
}

/** The distance of two places on a sphere; it is exact to half a percent. */
function metresBetween(one: string | undefined, other: string | undefined): number {
  const [lat1 = 0, lng1 = 0] = (one ?? '').split(' ').map(Number);
  const [lat2 = 0, lng2 = 0] = (other ?? '').split(' ').map(Number);
  const [a, b] = [(lat1 * Math.PI) / 180, (lat2 * Math.PI) / 180];
  const half = (degrees: number) => Math.sin((degrees * Math.PI) / 360) ** 2;
  const chord = half(lat2 - lat1) + Math.cos(a) * Math.cos(b) * half(lng2 - lng1);
  return METRES_PER_DEGREE * (360 / Math.PI) * Math.asin(Math.sqrt(Math.min(1, chord)));
}
