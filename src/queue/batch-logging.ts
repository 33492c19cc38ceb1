import { SchemaMigrationRequiredError } from 'bullmq';
import type { Logger } from 'pino';
import type { ReadDelivery } from './delivery-batch.ts';
import type { OnError } from './engine.ts';
import { failuresIn } from '../lib/failure-log.ts';

/** A log line contains at most this many delivery ids; its count includes all deliveries. */
const MAX_IDS = 20;

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

function describeBatch(batch: readonly ReadDelivery[]) {
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

/**
 * Logs the errors of a connection, without flooding the log during an outage. `name` is the name of the connection, `part`
 * that of its work, if the success of that is reported.
 */
export function logOutages(logger: Logger, name: string, part?: string): OnError {
  const failures = failuresIn(logger);
  return (error) => {
    // At the first start, this process makes the queue's tables a moment later.
    if (error.cause instanceof SchemaMigrationRequiredError) {
      logger.debug(`${name}: the queue's tables do not exist yet; deliveries are spooled meanwhile`);
    } else {
      failures.report(part, error, name);
    }
  };
}
