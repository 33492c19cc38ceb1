import { FAMILY_OF, UNKNOWN_MESSAGE_TYPE } from '../domain.ts';
import { describeError } from '../errors.ts';
import { isJsonObject, parseElements } from '../exact-json.ts';
import { FIELDS, OCCURRED_AT, ORG_ID, OWNER_ID, SENT_TYPE } from '../message-types.ts';
import { recordsOf, unreadableOf } from '../queue/delivery-batch.ts';
import type { QueuedDelivery, ReadDelivery, SetAside } from '../queue/delivery-batch.ts';
import { makeStorable, mayBeUnstorable, printIso } from './coerce.ts';
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
      yield* convertRecords(delivery, recordsOf(delivery));
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

function* convertRecords(delivery: QueuedDelivery, records: string): Generator<DeliveryPart> {
  const numberTwin = createTwinNumbers(delivery);
  const receivedAt = printIso(delivery.receivedAt);
  const split = HANDLERS[FAMILY_OF[delivery.messageType]];
  const isStorable = !mayBeUnstorable(records);
  let place = 0;
  let room = MIN_ROOM_CHARACTERS + MAX_GROWTH * records.length;
  for (const record of parseElements(records)) {
    try {
      if (!isJsonObject(record)) throw new TypeError('the record is not a JSON object');
      for (const part of split(isStorable ? record : makeStorable(record), room)) {
        room -= part.payload.length + EVENT_OVERHEAD;
        yield { event: { ...toEvent(delivery, receivedAt, part, numberTwin), place } };
        place += 1;
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
  const name = sentType ?? messageType;
  const firstId = eventId(source, name, payload, 0);
  const ordinal = numberTwin(firstId);
  return {
    eventId: ordinal === 0 ? firstId : eventId(source, name, payload, ordinal),
    deliveryId,
    source,
    messageType,
    occurredAt: read(OCCURRED_AT[FAMILY_OF[messageType]]) ?? receivedAt,
    receivedAt,
    ownerId: read(OWNER_ID),
    orgId: read(ORG_ID),
    origin,
    payload,
    values: FIELDS[messageType].map((field) => (field === SENT_TYPE ? (sentType ?? null) : read(field))),
  };
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
