import type { Family } from '../domain.ts';
import { canonicalJson, isJsonObject } from '../exact-json.ts';
import type { JsonObject } from '../exact-json.ts';

/** The part of a record that becomes one event: its payload, and the objects its typed columns are read from, best first. */
export interface RecordPart {
  readonly content: JsonObject;
  readonly columns: readonly JsonObject[];
}

/** A family's handler: splits a record into parts. Throws when the parts need more than `room` characters. */
export type Handler = (record: JsonObject, room: number) => Iterable<RecordPart>;

/** The members with observations: of clients by one access point, or of one client by access points. */
const LISTS = ['observations', 'deviceObservers', 'device_observers'];

/** The size of an event beside the characters of its payload: ids and columns. */
export const EVENT_OVERHEAD = 128;

/**
 * Splits a location record into one part per observation. The payload is the record with that observation alone, so
 * that a record of 500 observations is not stored whole 500 times. The columns are read from the observation, then from
 * the record. Throws when the parts together need more than `room` characters.
 */
export function splitObservations(record: JsonObject, room: number): Iterable<RecordPart> {
  const found = findObservations(record);
  if (found === undefined) return [{ content: record, columns: [record] }];
  const { list, observations } = found;
  const shared = canonicalJson({ ...record, [list]: [] }).length;
  if ((shared + EVENT_OVERHEAD) * observations.length > room) {
    throw new Error(
      `${observations.length} observations that share ${shared} characters are too many to split`,
    );
  }
  return splitEach(record, list, observations);
}

function* splitEach(
  record: JsonObject,
  list: string,
  observations: readonly unknown[],
): Generator<RecordPart> {
  for (const observation of observations) yield splitOne(record, list, observation);
}

/** The list with observations. A sender with one class for both kinds leaves the other list null or empty. */
function findObservations(
  record: JsonObject,
): { list: string; observations: readonly unknown[] } | undefined {
  for (const list of LISTS) {
    const observations = record[list];
    if (Array.isArray(observations) && observations.length > 0) return { list, observations };
  }
  return undefined;
}

function splitOne(record: JsonObject, list: string, observation: unknown): RecordPart {
  return {
    content: { ...record, [list]: [observation] },
    columns: isJsonObject(observation) ? [observation, record] : [record],
  };
}

const oneEvent: Handler = (record) => [{ content: record, columns: [record] }];

export const HANDLERS: Readonly<Record<Family, Handler>> = {
  audit: oneEvent,
  location: splitObservations,
  log: oneEvent,
};
