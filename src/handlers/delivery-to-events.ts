import { FAMILY_OF } from '../domain.ts';
import { describeError } from '../errors.ts';
import { canonicalJson, isJsonObject, parseExactJson } from '../exact-json.ts';
import { FIELDS, OCCURRED_AT, ORG_ID, OWNER_ID } from '../message-types.ts';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';
import type { EventRow } from '../store/insert-events.ts';
import { makeStorable, readField } from './coerce.ts';
import { HANDLERS } from './families.ts';
import type { RecordPart } from './families.ts';
import { eventId } from './identity.ts';
import { EVENT_OVERHEAD } from './location.ts';

/**
 * Each observation is stored with its record's other members, so a hostile body of some kilobytes could become
 * gigabytes of events. A delivery may grow this many times, and by a little more when it is small.
 */
const MAX_GROWTH = 16;
const MIN_ROOM_CHARACTERS = 256 * 1024;

/** Something of a delivery that becomes no event: why, and its bytes as they came. */
export interface SetAside {
  readonly reason: string;
  readonly content: Buffer;
  /** Content-Encoding of the bytes, of a whole body. */
  readonly encoding?: string | null;
}

/** A delivery as rows, before anything is written. */
export interface DeliveryEvents {
  readonly delivery: QueuedDelivery;
  readonly events: readonly EventRow[];
  readonly setAside: readonly SetAside[];
}

/** Turns a delivery's records into event rows. It is pure: running the job again gives the same rows. */
export function deliveryToEvents(delivery: QueuedDelivery): DeliveryEvents {
  const setAside: SetAside[] = delivery.unreadable.map(({ reason, content, encoding = null }) => ({
    reason,
    content: Buffer.from(content, 'base64'),
    encoding,
  }));
  const records = parseExactJson(delivery.records);
  if (!Array.isArray(records))
    throw new TypeError(`delivery ${delivery.deliveryId}: its records are no JSON array`);

  const events: EventRow[] = [];
  const ordinalOf = countTwins(delivery);
  let room = MIN_ROOM_CHARACTERS + MAX_GROWTH * delivery.records.length;
  for (const record of records) {
    try {
      for (const part of splitRecord(delivery, record, room)) {
        const event = toEvent(delivery, part, ordinalOf);
        room -= event.payload.length + EVENT_OVERHEAD;
        events.push(event);
      }
    } catch (error) {
      setAside.push({ reason: describeError(error), content: Buffer.from(JSON.stringify(record)) });
    }
  }
  return { delivery, events, setAside };
}

function splitRecord(delivery: QueuedDelivery, record: unknown, room: number): readonly RecordPart[] {
  if (!isJsonObject(record)) throw new TypeError('the record is not a JSON object');
  return HANDLERS[FAMILY_OF[delivery.messageType]](makeStorable(record), room);
}

function toEvent(
  delivery: QueuedDelivery,
  { content, columns }: RecordPart,
  ordinalOf: (canonical: string) => number,
): EventRow {
  const { source, messageType } = delivery;
  const canonical = canonicalJson(content);
  const receivedAt = new Date(delivery.receivedAt).toISOString();
  return {
    eventId: eventId(source, messageType, canonical, ordinalOf(canonical)),
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

/** Numbers the identical contents of one delivery: the first is 0, but of a replayed record what it was before. */
export function countTwins({ twinsBefore = 0 }: QueuedDelivery): (canonical: string) => number {
  const seen = new Map<string, number>();
  return (canonical) => {
    const ordinal = seen.get(canonical) ?? twinsBefore;
    seen.set(canonical, ordinal + 1);
    return ordinal;
  };
}
