import * as fc from 'fast-check';
import { v5 as uuidv5 } from 'uuid';
import { describe, expect, it } from 'vitest';
import { ID_NAMESPACE, readBatch } from '../../src/queue/read-batch.ts';
import { queuedDelivery } from '../support/deliveries.ts';

const ADDED_AT = Date.parse('2026-01-31T08:00:00Z');
const good = queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }], { source: 'north', secretForm: 'hmac' });

/** The one delivery that such data is read as. */
function readOne(data: unknown) {
  const read = readBatch(data, ADDED_AT);
  if (read.kind !== 'deliveries') throw new Error('of a newer version');
  const [delivery, ...others] = read.deliveries;
  if (delivery === undefined || others.length > 0) throw new Error('not of one delivery');
  return { ...delivery, malformed: read.malformed };
}

describe('the data of a job', () => {
  it('is read as it was written', () => {
    const read = readBatch({ version: 1, deliveries: [good] }, ADDED_AT);
    expect(read).toEqual({ kind: 'deliveries', deliveries: [good], malformed: 0 });
  });

  it('is left alone when a newer program wrote it', () => {
    const read = readBatch({ version: 4, deliveries: [good] }, ADDED_AT);
    expect(read).toEqual({ kind: 'newer', version: 4 });
  });

  it.each([
    ['records that are no text', { records: [1] }],
    ['a number beyond the tables', { bodyBytes: 2 ** 31 }],
    ['a time beyond the calendar', { unreadable: null, receivedAt: good.receivedAt }],
  ])('keeps a delivery that is wrong whole, under its own id and address: %s', (_, wrong) => {
    const item = { ...good, ...wrong };
    const { deliveryId, source, messageType, receivedAt, secretForm } = good;
    const kept = readOne({ version: 1, deliveries: [item] });
    expect(kept).toMatchObject({ deliveryId, source, messageType, receivedAt, secretForm, malformed: 1 });
    expect(kept).toMatchObject({ recordCount: 1, records: '[]' });
    expect(Buffer.from(kept.unreadable[0]?.content ?? '', 'base64').toString()).toBe(JSON.stringify(item));
  });

  it.each([
    ['deliveryId', 'x', uuidv5(JSON.stringify({ ...good, deliveryId: 'x' }), ID_NAMESPACE)],
    ['source', 'a\0b', 'unknown'],
    ['messageType', 'OTHER', 'UNKNOWN'],
    ['receivedAt', 1e300, ADDED_AT],
    ['origin', null, 'webhook'],
    ['secretForm', 1, null],
  ])('puts a placeholder that the tables take in the place of a wrong %s', (member, wrong, placeholder) => {
    expect(readOne({ deliveries: [{ ...good, [member]: wrong }] })).toMatchObject({ [member]: placeholder });
  });

  it('is never lost, whatever it is, and read again gives the same', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.record({ deliveries: fc.array(fc.jsonValue()) })), (data) => {
        const read = readBatch(data, ADDED_AT);
        expect(readBatch(data, ADDED_AT)).toEqual(read);
        if (read.kind === 'newer') return;
        const items: unknown[] =
          typeof data === 'object' && data !== null && 'deliveries' in data && Array.isArray(data.deliveries)
            ? data.deliveries
            : [data];
        const kept = read.deliveries.map(({ unreadable }) =>
          Buffer.from(unreadable[0]?.content ?? '', 'base64').toString(),
        );
        expect(kept).toEqual(items.map((item) => JSON.stringify(item)));
      }),
    );
  });
});
