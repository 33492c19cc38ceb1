import { hash } from 'node:crypto';
import { z } from 'zod';
import type { StoredEvent } from '../events/stored-event.ts';
import { fold } from '../lib/text/fold.ts';
import type { NewAlert } from '../store/alerts/alerts.ts';
import type { AlertRule } from './alert-rule.ts';

/** An event that an alert was raised for. */
const causeSchema = z.strictObject({
  /** The time that counts, and if it is not that of the event, its own. */
  at: z.number(),
  occurred: z.number().optional(),
  id: z.string(),
  value: z.string().optional(),
});

export type Cause = z.output<typeof causeSchema>;

/** What a rule remembers of a group: no more than can still matter. Times are epoch milliseconds. */
export const groupStateSchema = z.strictObject({
  /** Events that count towards the next alert, by time. */
  causes: z.array(causeSchema).default([]),
  /** Events up to this time belong to the last alert, which was raised for the event at `quietSince`. */
  quietSince: z.number().optional(),
  quietUntil: z.number().optional(),
  /** With `first_seen`: since when the group is known, and when each value was seen last. */
  since: z.number().optional(),
  seen: z.record(z.string(), z.number()).optional(),
  /** With `silent_for`: when the group was heard last, by the clock of its source; and this clock. */
  heard: z.number().optional(),
  clock: z.strictObject({ elapsed: z.number(), received: z.number() }).optional(),
});

export type GroupState = z.output<typeof groupStateSchema>;

/** What a rule has found: the values of the columns that it groups by, and the events that caused it, the latest by time. */
export type Alert = Omit<NewAlert, 'destinations'>;

/** Evaluates a rule over events in the order of the log. */
export interface RuleEvaluator {
  /** The alerts that this event completes. */
  evaluate(event: StoredEvent): readonly Alert[];
  /** The groups whose states changed since the last call; undefined: nothing to remember any more. */
  takeChanged(): ReadonlyMap<string, GroupState | undefined>;
}

/** What a rule remembered of its groups, by their names. */
export type SavedStates = Iterable<readonly [group: string, state: GroupState]>;

/** The clock of a sender may be so far ahead. An event of a later time counts at the time of its receipt. */
const MOST_AHEAD_MS = 300_000;

/** When an event occurred, when it was received, and the time that counts, in epoch milliseconds. */
export function timesOf({ occurredAt, receivedAt }: StoredEvent) {
  const [occurred, received] = [Date.parse(occurredAt), Date.parse(receivedAt)];
  return { occurred, received, at: occurred - received > MOST_AHEAD_MS ? received : occurred };
}

/** An alert names at most this many of the events that caused it. */
const MOST_CAUSES = 100;

/** Beyond it, a source's groups that were heard longest ago are forgotten: a sender can make up any number of names. */
export const MOST_GROUPS = 100_000;

/** A text of a record has up to 2 MiB, and an index entry of Postgres ends at 2,704 bytes. */
const MOST_KEY_BYTES = 1_000;

/** A text to recognize later, however it is written: a long one by its digest. */
export function keyOf(text: string): string {
  const folded = fold(text);
  return Buffer.byteLength(folded) <= MOST_KEY_BYTES ? folded : hash('sha256', folded);
}

/** The name of a group. A person is the same however their name is written. */
export function groupOf(source: string, values: readonly (string | null)[]): string {
  const group = JSON.stringify([source, ...values.map((text) => fold(text ?? ''))]);
  return Buffer.byteLength(group) <= MOST_KEY_BYTES ? group : JSON.stringify([source, hash('sha256', group)]);
}

/** The source of a group, or of a source's clock. */
export const sourceOf = (group: string): string =>
  z.tuple([z.string()], z.unknown()).parse(JSON.parse(group))[0];

/** The values of a group as an alert shows them: of long texts, the beginning. */
export const shownValues = (values: readonly (string | null)[]): readonly string[] =>
  values.map((text) => ((text?.length ?? 0) > 512 ? `${text?.slice(0, 512).toWellFormed()}…` : (text ?? '')));

/** The alert of a rule for a group with these values, which these events caused. */
export function toAlert(
  { name, title, severity, group_by: columns, distinct }: AlertRule,
  source: string,
  values: readonly (string | null)[],
  causes: readonly Cause[],
): Alert {
  const iso = (at: number) => new Date(at).toISOString();
  const [first, last] = [causes[0]?.at ?? 0, causes.at(-1)?.at ?? 0];
  const shown = shownValues(values);
  return {
    rule: name,
    title,
    severity,
    source,
    group: Object.fromEntries(columns.map((column, index) => [column, shown[index] ?? ''])),
    count: distinct === undefined ? causes.length : new Set(causes.map(({ value }) => value)).size,
    firstAt: iso(first),
    lastAt: iso(last),
    causes: causes
      .slice(-MOST_CAUSES)
      .map(({ at, occurred = at, id }) => ({ eventId: id, occurredAt: iso(occurred) })),
  };
}
