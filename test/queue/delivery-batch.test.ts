import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ZodError } from 'zod';
import {
  decodeBatch,
  DeliveryBatch,
  encodeBatch,
  packBody,
  toBatch,
  recordsOf,
  unreadableOf,
  weighDelivery,
} from '../../src/queue/delivery-batch.ts';
import { queuedDelivery } from '../support/deliveries.ts';

const delivery = queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }], {
  unreadable: [{ reason: 'not JSON', content: 'AA==' }],
});

describe('a batch', () => {
  it('comes out of the queue as it went in', () => {
    const batch = {
      version: 1,
      deliveries: [delivery, { ...delivery, secretForm: null, origin: 'backfill' }],
    };
    expect(DeliveryBatch.parse(JSON.parse(JSON.stringify(batch)))).toEqual(batch);
  });

  it.each([
    { deliveries: [delivery] },
    { version: 4, deliveries: [delivery] },
    { version: 1, deliveries: [{ ...delivery, messageType: 'OTHER' }] },
    { version: 1, deliveries: [{ ...delivery, records: [{}] }] },
    { version: 1, deliveries: [{ ...delivery, deliveryId: 'x' }] },
    { version: 1 },
    null,
  ])('of another shape or version is refused: %#', (data) => {
    expect(() => DeliveryBatch.parse(data)).toThrow(ZodError);
  });
});

describe('a packed delivery', () => {
  const packed = { ...delivery, ...packBody(delivery) };

  it('comes out of the queue as it was before', () => {
    const [read] = DeliveryBatch.parse(JSON.parse(JSON.stringify(toBatch([packed])))).deliveries;
    expect(read && { records: recordsOf(read), unreadable: [...unreadableOf(read)] }).toEqual({
      records: delivery.records,
      unreadable: [...unreadableOf(delivery)],
    });
    expect([...unreadableOf(packed)]).not.toEqual([]);
    expect([packed.records, packed.unreadable]).toEqual(['[]', []]);
  });

  it('weighs what it holds: it is not stored together with many others', () => {
    const large = { ...delivery, records: JSON.stringify([{ a: 'x'.repeat(1_000_000) }]) };
    expect(weighDelivery({ ...large, ...packBody(large) })).toBeGreaterThan(1_000_000);
  });

  it('makes its batch one of version 2, which an older worker leaves to a newer one', () => {
    expect(toBatch([delivery, packed]).version).toBe(2);
    expect(toBatch([delivery]).version).toBe(1);
  });
});

describe('an alert', () => {
  it('makes its batch one of version 3, which an older worker leaves to a newer one', () => {
    const alert = queuedDelivery('ALERT', [{ id: 'a-1' }]);
    expect(toBatch([alert, { ...delivery, ...packBody(delivery) }]).version).toBe(3);
    expect(decodeBatch(encodeBatch([alert])).deliveries).toEqual([alert]);
  });
});

describe('the weight of a delivery', () => {
  it('counts the records and everything set aside beside them', () => {
    expect(weighDelivery(queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }]))).toBe('[{"id":1}]'.length);
    expect(weighDelivery(delivery)).toBe('[{"id":1}]'.length + 'not JSON'.length + 'AA=='.length);
  });

  it('is never less than the bytes that a body kept whole brought', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const content = Buffer.from(bytes).toString('base64');
        const unreadable = [{ reason: 'not JSON', content }];
        expect(weighDelivery({ ...delivery, records: '[]', unreadable })).toBeGreaterThanOrEqual(
          bytes.length,
        );
      }),
    );
  });
});
