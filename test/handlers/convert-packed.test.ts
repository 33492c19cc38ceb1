import { expect, it } from 'vitest';
import { convertPacked } from '../../src/handlers/convert-packed.ts';
import { ConversionError } from '../../src/handlers/delivery-to-events.ts';
import type { DeliveryPart } from '../../src/handlers/delivery-to-events.ts';
import { packBody } from '../../src/queue/delivery-batch.ts';
import type { ReadDelivery } from '../../src/queue/delivery-batch.ts';
import { deliveryToEvents } from '../support/convert.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';

async function convert(delivery: ReadDelivery): Promise<DeliveryPart[]> {
  const parts: DeliveryPart[] = [];
  for await (const slice of convertPacked(delivery)) parts.push(...slice);
  return parts;
}

const records = Array.from({ length: 3_000 }, (_, id) =>
  auditRecord({ id: id % 1_000, ownerId: 2 ** 53 + id }),
);
const plain = queuedDelivery('AUDIT_LOG_ALL', records, {
  unreadable: [
    { reason: 'not an object', content: Buffer.from('1.50').toString('base64') },
    { reason: 'large', content: Buffer.alloc(300_000, 'x').toString('base64'), encoding: 'br' },
  ],
});
const packed = { ...plain, ...packBody(plain) };

it('a packed delivery comes to the same parts as a plain one, also two at a time', async () => {
  const { events, setAside } = deliveryToEvents(plain);
  for (const parts of await Promise.all([convert(packed), convert(packed)])) {
    expect(parts.flatMap((part) => ('event' in part ? [part.event] : []))).toEqual(events);
    expect(parts.flatMap((part) => ('setAside' in part ? [part.setAside] : []))).toEqual(setAside);
  }
});

it('a packed delivery may be left in the middle, and the next one is converted', async () => {
  for await (const slice of convertPacked(packed)) if (slice.length > 0) break;
  expect(await convert(packed)).toHaveLength(3_002);
});

it('a damaged one is a conversion defect', async () => {
  const damaged = { ...plain, packed: { records: 'AAAA', unreadable: [], size: 1 } };
  await expect(convert(damaged)).rejects.toThrow(ConversionError);
});
