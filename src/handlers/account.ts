import type { ReadDelivery } from '../queue/delivery-batch.ts';
import type { NewDelivery } from '../store/deliveries.ts';
import type { NewQuarantined } from '../store/quarantine.ts';
import { replaceUnstorable } from './coerce.ts';
import { createTwinNumbers } from './delivery-to-events.ts';
import type { SetAside } from './delivery-to-events.ts';
import { quarantineId } from './identity.ts';

/** What a delivery has come to so far, while it is stored. */
export interface Account {
  readonly delivery: ReadDelivery;
  /** Events that were made of it. */
  events: number;
  /** Events of these that are new rows. */
  written: number;
  /** What became no event. */
  readonly setAside: SetAside[];
  /** Events that Postgres cannot hold. */
  readonly rejected: SetAside[];
}

/** What storing came to, for the log. */
export interface Stored {
  readonly deliveries: number;
  readonly events: number;
  readonly duplicates: number;
  readonly quarantined: number;
}

/** An account with nothing in it. */
export function openAccount(delivery: ReadDelivery): Account {
  return { delivery, events: 0, written: 0, setAside: [], rejected: [] };
}

/** The delivery's own row, whose counts must add up, and its rows in quarantine. */
export function settle(account: Account): { row: NewDelivery; quarantined: NewQuarantined[] } {
  const { delivery, events, written, setAside, rejected } = account;
  const { deliveryId, source, messageType, origin, secretForm, bodyBytes, recordCount } = delivery;
  const receivedAt = new Date(delivery.receivedAt).toISOString();
  const allSetAside = [...setAside, ...rejected];
  const numberTwin = createTwinNumbers(delivery);
  return {
    row: {
      deliveryId,
      source,
      messageType,
      receivedAt,
      origin,
      secretForm,
      bodyBytes,
      recordCount,
      expectedCount: events + setAside.length,
      eventCount: written,
      duplicateCount: events - rejected.length - written,
      quarantinedCount: allSetAside.length,
    },
    quarantined: allSetAside.map(({ reason, content, encoding = null }, ordinal) => ({
      quarantineId: quarantineId(deliveryId, ordinal),
      deliveryId,
      source,
      messageType,
      receivedAt,
      // The reason may quote what it is about.
      reason: replaceUnstorable(reason),
      content,
      encoding,
      // Those with the same content met the same fate, so all of them are here to be counted.
      twinsBefore: numberTwin(content.toString('latin1')),
    })),
  };
}

/** The sums over the rows of some deliveries. */
export function summarize(rows: readonly NewDelivery[]): Stored {
  const sum = (count: 'eventCount' | 'duplicateCount' | 'quarantinedCount') =>
    rows.reduce((total, row) => total + row[count], 0);
  return {
    deliveries: rows.length,
    events: sum('eventCount'),
    duplicates: sum('duplicateCount'),
    quarantined: sum('quarantinedCount'),
  };
}
