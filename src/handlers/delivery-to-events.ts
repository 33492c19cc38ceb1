import { FAMILY_OF, UNKNOWN_MESSAGE_TYPE } from '../domain.ts';
import { describeError } from '../errors.ts';
import { canonicalJson, isJsonObject, parseElements } from '../exact-json.ts';
import { FIELDS, OCCURRED_AT, ORG_ID, OWNER_ID } from '../message-types.ts';
import { recordsOf, unreadableOf } from '../queue/delivery-batch.ts';
import type { QueuedDelivery, ReadDelivery } from '../queue/delivery-batch.ts';
import { makeStorable, readField } from './coerce.ts';
import { EVENT_OVERHEAD, HANDLERS } from './families.ts';
import type { RecordPart } from './families.ts';
import { eventId } from './identity.ts';
import type { EventRow } from '../store/insert-events.ts';

/**
 * Each observation is stored with its record's other members, so a hostile body of some kilobytes could become
 * gigabytes of events. The events of a delivery may be this many times as large as the delivery, plus some room.
 */
const MAX_GROWTH = 16;
const MIN_ROOM_CHARACTERS = 256 * 1024;

/** A part of a delivery that cannot become an event: the reason, and the original bytes. */
export interface SetAside {
  readonly reason: string;
  readonly content: Buffer;
  /** Content-Encoding of the bytes if they are a whole body. */
  readonly encoding?: string | null;
}

/** A part of a delivery: an event to store, or bytes to quarantine. */
export type DeliveryPart = { readonly event: EventRow } | { readonly setAside: SetAside };

/** A defect of this program keeps it from reading a delivery: nothing of the delivery counts as converted. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

/**
 * Converts a delivery part by part, so that a large one is never in memory as rows. The conversion is pure: running the
 * job again yields the same parts. Throws ConversionError.
 */
export function* convertDelivery(delivery: ReadDelivery): Generator<DeliveryPart> {
  try {
    for (const setAside of unreadableOf(delivery)) yield { setAside };
    if (delivery.messageType !== UNKNOWN_MESSAGE_TYPE) {
      yield* convertRecords({ ...delivery, records: recordsOf(delivery) });
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

function* convertRecords(delivery: QueuedDelivery): Generator<DeliveryPart> {
  const numberTwin = createTwinNumbers(delivery);
  let room = MIN_ROOM_CHARACTERS + MAX_GROWTH * delivery.records.length;
  for (const record of parseElements(delivery.records)) {
    try {
      for (const part of splitRecord(delivery, record, room)) {
        const event = toEvent(delivery, part, numberTwin);
        room -= event.payload.length + EVENT_OVERHEAD;
        yield { event };
      }
    } catch (error) {
      yield { setAside: { reason: describeError(error), content: Buffer.from(JSON.stringify(record)) } };
    }
  }
}

function splitRecord(delivery: QueuedDelivery, record: unknown, room: number): Iterable<RecordPart> {
  if (!isJsonObject(record)) throw new TypeError('the record is not a JSON object');
  return HANDLERS[FAMILY_OF[delivery.messageType]](makeStorable(record), room);
}

function toEvent(
  delivery: QueuedDelivery,
  { content, columns }: RecordPart,
  numberTwin: (firstId: string) => number,
): EventRow {
  const { source, messageType } = delivery;
  const canonical = canonicalJson(content);
  const receivedAt = new Date(delivery.receivedAt).toISOString();
  const firstId = eventId(source, messageType, canonical, 0);
  const ordinal = numberTwin(firstId);
  return {
    eventId: ordinal === 0 ? firstId : eventId(source, messageType, canonical, ordinal),
    deliveryId: delivery.deliveryId,
    source,
    messageType,
    occurredAt: readField(columns, OCCURRED_AT[FAMILY_OF[messageType]]) ?? receivedAt,
    receivedAt,
    ownerId: readField(columns, OWNER_ID),
    orgId: readField(columns, ORG_ID),
    origin: delivery.origin,
    payload: canonical,
    values: readValues(columns, messageType),
  };
}

const readValues = (columns: RecordPart['columns'], messageType: QueuedDelivery['messageType']) =>
  FIELDS[messageType].map((field) => readField(columns, field));

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
