import type { Logger } from 'pino';
import type { MessageType, Origin } from '../domain.ts';
import { createBatchStore, type BatchStoreOptions } from '../handlers/store-batch.ts';
import { newDeliveryId } from '../queue/delivery-batch.ts';
import type { Db } from '../store/database.ts';

/** Records that no webhook brought, of one source and message type. */
export interface OwnRecords {
  readonly source: string;
  readonly messageType: MessageType;
  readonly sentType?: string;
  readonly origin: Exclude<Origin, 'webhook'>;
  readonly records: readonly object[];
}

/** Creates the function that stores records as the worker stores deliveries: as one, committed when this resolves. */
export function createRecordStore(
  db: Db,
  logger: Logger,
  giveUp: AbortSignal,
  options: BatchStoreOptions,
): (given: OwnRecords) => Promise<void> {
  const store = createBatchStore(db, logger, giveUp, options);
  return async ({ records, ...given }) => {
    const receivedAt = Date.now();
    const text = JSON.stringify(records);
    const delivery = {
      ...given,
      deliveryId: newDeliveryId(receivedAt),
      receivedAt,
      secretForm: null,
      bodyBytes: Buffer.byteLength(text),
      recordCount: records.length,
      records: text,
      unreadable: [],
    };
    await store({ deliveries: [delivery] });
  };
}
