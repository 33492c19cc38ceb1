import type { Family } from '../domain.ts';
import { canonicalAround, canonicalJson, isJsonObject } from '../exact-json.ts';
import type { JsonObject } from '../exact-json.ts';
import { ALERT_SOURCE, ALERT_SOURCE_FIELDS } from '../message-types.ts';
import type { Field } from '../message-types.ts';
import { readField } from './coerce.ts';

/** The part of a record that becomes one event. */
export interface RecordPart {
  /** Canonical JSON. */
  readonly payload: string;
  /** The value of a field, as `readField` reads it. */
  readonly read: (field: Field) => string | null;
}

/** A family's handler: splits a record into parts. Throws when the parts need more than `room` characters. */
export type Handler = (record: JsonObject, room: number) => Iterable<RecordPart>;

/** The members with observations: of clients by one access point, or of one client by access points. */
const LISTS = ['observations', 'deviceObservers', 'device_observers'];

/** The size of an event beside the characters of its payload: ids and columns. */
export const EVENT_OVERHEAD = 128;

/**
 * Splits a location record into one part per observation. The payload is the record with that observation alone, so
 * that a record of 500 observations is not stored whole 500 times. Fields are read from the observation, then from the
 * record. Throws when the parts together need more than `room` characters.
 */
export function* splitObservations(record: JsonObject, room: number): Generator<RecordPart> {
  // A sender with one class for both kinds leaves the other list null or empty.
  const list = LISTS.find((name) => isFilled(record[name]));
  const observations = list === undefined ? undefined : record[list];
  if (list === undefined || !isFilled(observations)) {
    yield* oneEvent(record, room);
    return;
  }
  const [before, after] = canonicalAround(record, list);
  const shared = before.length + '[]'.length + after.length;
  if ((shared + EVENT_OVERHEAD) * observations.length > room) {
    throw new Error(
      `${observations.length} observations that share ${shared} characters are too many to split`,
    );
  }
  const known = new Map<Field, string | null>();
  const readShared = (field: Field) => {
    if (!known.has(field)) known.set(field, readField(record, field));
    return known.get(field) ?? null;
  };
  for (const observation of observations) {
    const own = isJsonObject(observation) ? observation : {};
    yield {
      payload: `${before}[${canonicalJson(observation)}]${after}`,
      read: (field) => readField(own, field) ?? readShared(field),
    };
  }
}

const isFilled = (value: unknown): value is readonly unknown[] => Array.isArray(value) && value.length > 0;

const oneEvent: Handler = (record) => [
  { payload: canonicalJson(record), read: (field) => readField(record, field) },
];

/** One event of an alert, whose source is an object of its own (published description, `XiqAlert`). */
const oneAlert: Handler = (record) => {
  const inner = record[ALERT_SOURCE];
  const source = isJsonObject(inner) ? inner : {};
  const read = (field: Field) =>
    readField(record, field) ?? (ALERT_SOURCE_FIELDS.includes(field) ? readField(source, field) : null);
  return [{ payload: canonicalJson(record), read }];
};

export const HANDLERS: Readonly<Record<Family, Handler>> = {
  audit: oneEvent,
  location: splitObservations,
  log: oneEvent,
  alerts: oneAlert,
};
