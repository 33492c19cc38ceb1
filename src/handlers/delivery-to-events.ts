import { refuses, type Refusals } from '../erasure/refusals.ts';
import { FAMILY_OF, UNKNOWN_MESSAGE_TYPE, type Family, type MessageType } from '../events/domain.ts';
import { describeError } from '../lib/errors.ts';
import { isJsonObject, canonicalAround, canonicalJson, writtenOut } from '../events/exact-json.ts';
import {
  FIELDS,
  listsOf,
  OBSERVATION_LISTS,
  OCCURRED_AT,
  ORG_ID,
  OWNER_ID,
  SENT_TYPE,
  type Field,
} from '../events/message-types.ts';
import { parseRecords } from '../events/parse-records.ts';
import { recordsOf, unreadableOf } from '../queue/delivery-batch.ts';
import type { QueuedDelivery, ReadDelivery, SetAside } from '../queue/delivery-batch.ts';
import { makeStorable, mayBeUnstorable, printIso, readField } from './coerce.ts';
import { eventId } from './identity.ts';
import type { EventRow } from '../store/events/insert-events.ts';
import type { JsonObject } from '../events/exact-json.ts';
import { ALERT_SOURCE, ALERT_SOURCE_FIELDS } from '../events/message-types.ts';

/**
 * Each observation is stored with its record's other members, and 1e1000 is printed with all its digits, so a hostile body
 * of some kilobytes could become gigabytes of events. The events of a delivery may be this many times as large as the
 * delivery, plus some room.
 */
const MAX_GROWTH = 16;
const MIN_ROOM_CHARACTERS = 256 * 1024;

/** A part of a delivery: an event to store, bytes to quarantine, or an event of an erased person. */
export type DeliveryPart =
  { readonly event: EventRow } | { readonly setAside: SetAside } | { readonly refused: true };

/** A defect of this program keeps it from reading a delivery: nothing of the delivery counts as converted. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

/**
 * Converts a delivery part by part, so that a large one is never in memory as rows. The conversion is pure: running the
 * job again yields the same parts. Throws ConversionError.
 */
export function* convertDelivery(delivery: ReadDelivery, refusals?: Refusals): Generator<DeliveryPart> {
  try {
    for (const setAside of unreadableOf(delivery)) yield { setAside };
    if (delivery.messageType !== UNKNOWN_MESSAGE_TYPE) {
      yield* convertRecords(delivery, recordsOf(delivery), refusals);
    }
  } catch (error) {
    throw new ConversionError(`delivery ${delivery.deliveryId} cannot be converted`, { cause: error });
  }
}

/** The same delivery with all of its records unreadable, so that it is quarantined whole. */
export function setAsideWhole(delivery: ReadDelivery, reason: string): ReadDelivery {
  // Unpacking holds up the event loop, but only a defect of this program leads here.
  const unreadable = [{ reason, content: Buffer.from(recordsOf(delivery)) }, ...unreadableOf(delivery)];
  return {
    ...delivery,
    packed: undefined,
    records: '[]',
    unreadable: unreadable.map((part) => ({ ...part, content: part.content.toString('base64') })),
  };
}

function* convertRecords(
  delivery: QueuedDelivery,
  records: string,
  refusals: Refusals | undefined,
): Generator<DeliveryPart> {
  const numberTwin = createTwinNumbers(delivery);
  const receivedAt = printIso(delivery.receivedAt);
  const split = HANDLERS[FAMILY_OF[delivery.messageType]];
  const isStorable = !mayBeUnstorable(records);
  let place = 0;
  let room = MIN_ROOM_CHARACTERS + MAX_GROWTH * records.length;
  const hasExponents = /\d[eE][+-]?\d/.test(records);
  for (const record of parseRecords(records, listsOf(delivery.messageType))) {
    try {
      if (!isJsonObject(record)) throw new TypeError('the record is not a JSON object');
      for (const part of split(isStorable ? record : makeStorable(record), room)) {
        const digits = hasExponents ? writtenOut(part.payload) : 0;
        const size = part.payload.length + EVENT_OVERHEAD + digits;
        if (digits > 0 && size > room)
          throw new Error(`its numbers are too long when written out (${digits} digits)`);
        room -= size;
        const event = { ...toEvent(delivery, receivedAt, part, numberTwin), place };
        place += 1;
        yield refusals !== undefined && refuses(refusals, event) ? { refused: true } : { event };
      }
    } catch (error) {
      yield { setAside: { reason: describeError(error), content: Buffer.from(JSON.stringify(record)) } };
    }
  }
}

function toEvent(
  { deliveryId, source, messageType, sentType, origin }: QueuedDelivery,
  receivedAt: string,
  { payload, read }: RecordPart,
  numberTwin: (firstId: string) => number,
): Omit<EventRow, 'place'> {
  if (origin === 'backfill' && read(OCCURRED_AT[FAMILY_OF[messageType]]) === null)
    throw new TypeError('the log record has no time');
  const name = sentType ?? messageType;
  const firstId = eventId(source, name, payload, 0);
  const ordinal = numberTwin(firstId);
  return {
    eventId: ordinal === 0 ? firstId : eventId(source, name, payload, ordinal),
    deliveryId,
    source,
    messageType,
    receivedAt,
    origin,
    payload,
    ...columnsOf(messageType, sentType, receivedAt, read),
  };
}

/** The columns that a record decides. */
const columnsOf = (
  messageType: MessageType,
  sentType: string | undefined,
  receivedAt: string,
  read: RecordPart['read'],
) => ({
  occurredAt: read(OCCURRED_AT[FAMILY_OF[messageType]]) ?? receivedAt,
  ownerId: read(OWNER_ID),
  orgId: read(ORG_ID),
  values: FIELDS[messageType].map((field) => (field === SENT_TYPE ? (sentType ?? null) : read(field))),
});

/** The same columns from the payload of a stored event, which makes one event again. Undefined: it makes none. */
export function deriveColumns(type: MessageType, receivedAt: string, payload: JsonObject, isFormer = false) {
  const [part] = HANDLERS[FAMILY_OF[type]](payload, Infinity);
  return part && columnsOf(type, undefined, receivedAt, (field) => part.read(field, isFormer));
}

/**
 * Creates the function that numbers identical contents of one delivery from 0 on. For a replayed record, numbering
 * starts at its number in the first delivery.
 */
export function createTwinNumbers({ twinsBefore = 0 }: ReadDelivery): (content: string) => number {
  const seen = new Map<string, number>();
  return (content) => {
    const ordinal = seen.get(content) ?? twinsBefore;
    seen.set(content, ordinal + 1);
    return ordinal;
  };
}

interface RecordPart {
  readonly payload: string;
  readonly read: (field: Field, isFormer?: boolean) => string | null;
}

/** A family's handler: splits a record into parts. Throws when the parts need more than `room` characters. */
type Handler = (record: JsonObject, room: number) => Iterable<RecordPart>;

/** The size of an event beside the characters of its payload: ids and columns. */
export const EVENT_OVERHEAD = 128;

/**
 * Splits a location record into one part per observation. The payload is the record with that observation alone, so
 * that a record of 500 observations is not stored whole 500 times. Fields are read from the observation, then from the
 * record. Throws when the parts together need more than `room` characters.
 */
export function* splitObservations(record: JsonObject, room: number): Generator<RecordPart> {
  // A sender with one class for both kinds leaves the other list null or empty.
  const list = OBSERVATION_LISTS.find((name) => isFilled(record[name]));
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
  const readShared = (field: Field, isFormer?: boolean) => {
    if (!known.has(field)) known.set(field, readField(record, field, isFormer));
    return known.get(field) ?? null;
  };
  for (const observation of observations) {
    const own = isJsonObject(observation) ? observation : {};
    yield {
      payload: `${before}[${canonicalJson(observation)}]${after}`,
      read: (field, isFormer) => readField(own, field, isFormer) ?? readShared(field, isFormer),
    };
  }
}

const isFilled = (value: unknown): value is readonly unknown[] => Array.isArray(value) && value.length > 0;

const oneEvent: Handler = (record) => [
  { payload: canonicalJson(record), read: (field, isFormer) => readField(record, field, isFormer) },
];

/** One event of an alert, whose source is a separate object (published description, `XiqAlert`). */
const oneAlert: Handler = (record) => {
  const inner = record[ALERT_SOURCE];
  const source = isJsonObject(inner) ? inner : {};
  const read = (field: Field, isFormer?: boolean) =>
    readField(record, field, isFormer) ??
    (ALERT_SOURCE_FIELDS.some(({ column }) => column === field.column)
      ? readField(source, field, isFormer)
      : null);
  return [{ payload: canonicalJson(record), read }];
};

const HANDLERS: Readonly<Record<Family, Handler>> = {
  audit: oneEvent,
  location: splitObservations,
  log: oneEvent,
  alerts: oneAlert,
  other: oneEvent,
};
