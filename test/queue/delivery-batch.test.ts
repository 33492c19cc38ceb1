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
  deliverySize,
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
    { version: 4, deliveries: [delivery] },
    { version: 1, deliveries: [{ ...delivery, messageType: 'SOMETHING' }] },
    { version: 1, deliveries: [{ ...delivery, records: [{}] }] },
    { version: 1 },
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
    expect(deliverySize({ ...large, ...packBody(large) })).toBeGreaterThan(1_000_000);
    expect(packBody(delivery).packed.size).toBe('[{"id":1}]'.length + 1);
  });

  it('makes its batch one of version 2, which an older worker leaves to a newer one', () => {
    expect(toBatch([delivery, packed]).version).toBe(2);
    expect(toBatch([delivery]).version).toBe(1);
  });
});

it('an alert, or a delivery of a type that is not known, makes its batch one of version 3, which an older worker leaves to a newer one', () => {
  const alert = queuedDelivery('ALERT', [{ id: 'a-1' }]);
  expect(toBatch([alert, { ...delivery, ...packBody(delivery) }]).version).toBe(3);
  const other = queuedDelivery('OTHER', [{}], { sentType: 'SOMETHING_NEW' });
  expect(toBatch([delivery, other]).version).toBe(3);
  expect(decodeBatch(encodeBatch([alert, other])).deliveries).toEqual([alert, other]);
});

it('the weight of a delivery counts the records and everything set aside beside them', () => {
  expect(deliverySize(queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }]))).toBe('[{"id":1}]'.length);
  expect(deliverySize(delivery)).toBe('[{"id":1}]'.length + 'not JSON'.length + 'AA=='.length);
});
