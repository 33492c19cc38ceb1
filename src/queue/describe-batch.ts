import type { ReadDelivery } from './delivery-batch.ts';

/** A log line names so many delivery ids at most; the count beside them is of all. */
const MAX_IDS = 20;

/** What a log line tells of the deliveries of a batch. */
export interface BatchDescription {
  readonly deliveries: number;
  readonly records: number;
  /** Of the bodies as they came. */
  readonly bytes: number;
  /** Deliveries by source. */
  readonly sources: Readonly<Record<string, number>>;
  /** Deliveries by message type. */
  readonly messageTypes: Readonly<Record<string, number>>;
  /** The first of them; each is the request id that its sender was given. */
  readonly deliveryIds: readonly string[];
}

/** Sums up the deliveries of a batch for one log line, which stays short however many they are. */
export function describeBatch(batch: readonly ReadDelivery[]): BatchDescription {
  const sources: Record<string, number> = {};
  const messageTypes: Record<string, number> = {};
  let records = 0;
  let bytes = 0;
  for (const { source, messageType, recordCount, bodyBytes } of batch) {
    sources[source] = (sources[source] ?? 0) + 1;
    messageTypes[messageType] = (messageTypes[messageType] ?? 0) + 1;
    records += recordCount;
    bytes += bodyBytes;
  }
  const deliveryIds = batch.slice(0, MAX_IDS).map(({ deliveryId }) => deliveryId);
  return { deliveries: batch.length, records, bytes, sources, messageTypes, deliveryIds };
}
