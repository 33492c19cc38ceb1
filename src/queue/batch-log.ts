import type { Logger } from 'pino';
import type { ReadDelivery } from './delivery-batch.ts';

/** A log line names so many delivery ids at most; the count beside them is of all. */
const MAX_IDS = 20;

/** What a log line tells of the deliveries of a batch. */
interface BatchDescription {
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

/** Writes one line about a batch: what became of it, and what its deliveries are. */
export type BatchLog = (outcome: object, batch: readonly ReadDelivery[], message: string) => void;

/**
 * Makes what writes lines about batches, at level info. They hold counts, names and ids alone: nothing is looked for
 * in them to be hidden, which would take four times as long as the rest.
 */
export function createBatchLog(logger: Logger): BatchLog {
  const unredacted = logger.child({}, { redact: [] });
  return (outcome, batch, message) => {
    if (unredacted.isLevelEnabled('info')) unredacted.info({ ...outcome, ...describeBatch(batch) }, message);
  };
}

/** The line stays short, however many deliveries there are. */
function describeBatch(batch: readonly ReadDelivery[]): BatchDescription {
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
