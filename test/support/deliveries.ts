import { v7 as uuidv7 } from 'uuid';
import type { MessageType } from '../../src/events/domain.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';

/** A delivery of these records as the queue holds it. */
export function queuedDelivery(
  messageType: MessageType,
  records: readonly unknown[],
  overrides: Partial<QueuedDelivery> = {},
): QueuedDelivery {
  const text = JSON.stringify(records);
  return {
    deliveryId: uuidv7(),
    source: 'default',
    messageType,
    receivedAt: Date.now(),
    origin: 'webhook',
    secretForm: 'bearer',
    bodyBytes: text.length,
    recordCount: records.length,
    records: text,
    unreadable: [],
    ...overrides,
  };
}

/** An audit record of the specification's shape. */
export const auditRecord = (overrides: Record<string, unknown> = {}) => ({
  ownerId: 1_234_567,
  orgId: 0,
  timeStamp: Date.now(),
  id: null,
  userId: 2_345_678,
  code: 10_001,
  category: 1,
  description: 'User admin@example.com logged in',
  userName: 'admin@example.com',
  vhmName: 'VHM-EXAMPLE',
  orgName: null,
  deviceCount: null,
  hostNames: null,
  config: null,
  deviceIds: null,
  ...overrides,
});
