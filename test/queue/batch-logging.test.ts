import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createBatchLog } from '../../src/queue/batch-logging.ts';
import { queuedDelivery } from '../support/deliveries.ts';

it('the line of a batch has its outcome, the sums of its deliveries, and the first ids', () => {
  const lines: unknown[] = [];
  const log = createBatchLog(pino({}, { write: (line) => void lines.push(JSON.parse(line)) }));
  const batch = Array.from({ length: 25 }, (_, n) => {
    const source = n < 5 ? 'a' : 'b';
    return { ...queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }, { id: 2 }], { source }), bodyBytes: 100 };
  });
  log({ job: '7' }, batch, 'batch stored');
  expect(lines).toMatchObject([
    {
      msg: 'batch stored',
      job: '7',
      deliveries: 25,
      records: 50,
      bytes: 2_500,
      sources: { a: 5, b: 20 },
      messageTypes: { AUDIT_LOG_ALL: 25 },
      deliveryIds: batch.slice(0, 20).map(({ deliveryId }) => deliveryId),
    },
  ]);
});
