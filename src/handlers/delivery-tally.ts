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
  const both = {
    delivery_id: deliveryId,
    source,
    message_type: messageType,
    sent_type: sentType ?? null,
    received_at: printIso(delivery.receivedAt),
  };
  const allSetAside = [...setAside, ...rejected];
  const numberTwin = createTwinNumbers(delivery);
  return {
    row: {
      ...both,
      origin,
      secret_form: secretForm,
      body_bytes: bodyBytes,
      record_count: recordCount,
      expected_count: events + setAside.length,
      event_count: written,
      duplicate_count: events - rejected.length - written,
      quarantined_count: allSetAside.length,
      refused_count: refused,
    },
    quarantined: allSetAside.map(({ reason, content, encoding = null }, ordinal) => ({
      ...both,
      quarantine_id: quarantineId(deliveryId, ordinal),
      // The reason may quote the record.
      reason: replaceUnstorable(reason),
      content,
      encoding,
      // Identical contents always meet the same fate, so all of them are counted here.
      twins_before: numberTwin(content.toString('latin1')),
    })),
  };
}

export type StoredBatch = ReturnType<typeof summarize>;

export function summarize(rows: readonly NewDelivery[]) {
  const sum = (count: 'event_count' | 'duplicate_count' | 'quarantined_count') =>
    rows.reduce((total, row) => total + row[count], 0);
  return {
    /** The deliveries that were not stored before. */
    deliveries: rows.length,
    events: sum('event_count'),
    duplicates: sum('duplicate_count'),
    quarantined: sum('quarantined_count'),
  };
}
