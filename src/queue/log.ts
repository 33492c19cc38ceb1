import { SchemaMigrationRequiredError } from 'bullmq';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import type { ReadDelivery } from './delivery-batch.ts';
import type { OnError } from './engine.ts';

/** A log line contains at most this many delivery ids; its count includes all deliveries. */
const MAX_IDS = 20;

/** The part of a log line that describes the deliveries of a batch. */
interface BatchDescription {
  readonly deliveries: number;
  readonly records: number;
  /** Of the bodies as sent. */
  readonly bytes: number;
  /** Deliveries by source. */
  readonly sources: Readonly<Record<string, number>>;
  /** Deliveries by message type. */
  readonly messageTypes: Readonly<Record<string, number>>;
  /** The first ids. Each is the request id in the answer to its sender. */
  readonly deliveryIds: readonly string[];
}

/** Logs one line about a batch: its outcome and a description of its deliveries. */
export type BatchLog = (outcome: object, batch: readonly ReadDelivery[], message: string) => void;

/**
 * Creates a log for batches, at level info. Its lines contain counts, names and ids only, so they skip redaction, which
 * would take four times as long as the rest.
 */
export function createBatchLog(logger: Logger): BatchLog {
  const unredacted = logger.child({}, { redact: [], level: 'info' });
  return (outcome, batch, message) => {
    // The level of the parent can change later.
    if (logger.isLevelEnabled('info')) unredacted.info({ ...outcome, ...describeBatch(batch) }, message);
  };
}

/** The line stays short for any number of deliveries. */
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

/** A client reports each attempt to reconnect. The same message is logged once in this time. */
const REPEAT_AFTER_MS = 30_000;

/** Messages may contain addresses and ports, so there may be any number of them. */
const MAX_MESSAGES = 100;

/** Logs the errors of a connection, without flooding the log during an outage. `name` is the name of the connection. */
export function logOutages(logger: Logger, name: string): OnError {
  const logged = new LRUCache<string, true>({ max: MAX_MESSAGES, ttl: REPEAT_AFTER_MS });
  return (error) => {
    if (logged.has(error.message)) return;
    logged.set(error.message, true);
    // At the first start, this process makes the queue's tables a moment later.
    if (error.cause instanceof SchemaMigrationRequiredError) {
      logger.info(
        `${name}: the tables of the queue do not exist yet; deliveries wait on the disk until they do`,
      );
    } else {
      logger.warn(`${name}: ${describeError(error)}`);
    }
  };
}
