import type { ReadDelivery, SetAside } from '../queue/delivery-batch.ts';
import type { NewDelivery } from '../store/deliveries/deliveries.ts';
import type { NewQuarantined } from '../store/quarantine/quarantine.ts';
import { printIso, replaceUnstorable } from './coerce.ts';
import { createTwinNumbers } from './delivery-to-events.ts';
import { quarantineId } from './identity.ts';

export interface DeliveryTally {
  readonly delivery: ReadDelivery;
  events: number;
  written: number;
  /** Events of erased persons, which are not among the others. */
  refused: number;
  readonly setAside: SetAside[];
  readonly rejected: SetAside[];
}

/** The tally of a delivery of which nothing has been stored yet. */
export function openTally(delivery: ReadDelivery): DeliveryTally {
  return { delivery, events: 0, written: 0, refused: 0, setAside: [], rejected: [] };
}

/** The delivery's own row, whose counts must add up, and its rows in quarantine. */
export function closeTally(tally: DeliveryTally): { row: NewDelivery; quarantined: NewQuarantined[] } {
  const { delivery, events, written, refused, setAside, rejected } = tally;
  const { deliveryId, source, messageType, sentType, origin, secretForm, bodyBytes, recordCount } = delivery;
  const receivedAt = printIso(delivery.receivedAt);
  const allSetAside = [...setAside, ...rejected];
  const numberTwin = createTwinNumbers(delivery);
  return {
    row: {
      deliveryId,
      source,
      messageType,
      sentType,
      receivedAt,
      origin,
      secretForm,
      bodyBytes,
      recordCount,
      expectedCount: events + setAside.length,
      eventCount: written,
      duplicateCount: events - rejected.length - written,
      quarantinedCount: allSetAside.length,
      refusedCount: refused,
    },
    quarantined: allSetAside.map(({ reason, content, encoding = null }, ordinal) => ({
      quarantine_id: quarantineId(deliveryId, ordinal),
      delivery_id: deliveryId,
      source,
      message_type: messageType,
      received_at: receivedAt,
      // The reason may quote the record.
      reason: replaceUnstorable(reason),
      content,
      encoding,
      // Identical contents always meet the same fate, so all of them are counted here.
      twins_before: numberTwin(content.toString('latin1')),
      sent_type: sentType ?? null,
    })),
  };
}

export type StoredBatch = ReturnType<typeof summarize>;

export function summarize(rows: readonly NewDelivery[]) {
  const sum = (count: 'eventCount' | 'duplicateCount' | 'quarantinedCount') =>
    rows.reduce((total, row) => total + row[count], 0);
  return {
    /** The deliveries that were not stored before. */
    deliveries: rows.length,
    events: sum('eventCount'),
    duplicates: sum('duplicateCount'),
    quarantined: sum('quarantinedCount'),
  };
}
