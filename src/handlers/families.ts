import type { Family } from '../domain.ts';
import type { JsonObject } from '../exact-json.ts';
import { splitObservations } from './location.ts';

/** What becomes one event: what is stored as its payload, and what its typed columns are read from, nearest first. */
export interface RecordPart {
  readonly content: JsonObject;
  readonly columns: readonly JsonObject[];
}

/** A family's handler: the parts of a record, each an event. Throws when they need more than `room` characters. */
export type Handler = (record: JsonObject, room: number) => Iterable<RecordPart>;

const oneEvent: Handler = (record) => [{ content: record, columns: [record] }];

export const HANDLERS: Readonly<Record<Family, Handler>> = {
  audit: oneEvent,
  location: splitObservations,
  log: oneEvent,
};
