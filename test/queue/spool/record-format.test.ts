import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameRecord, readRecords } from '../../../src/queue/spool/record-format.ts';

/** What the spool holds is JSON, so any text stands for it; bytes that are no text would do as well, but for the mark. */
const payloads = fc.array(
  fc.string({ unit: 'binary', maxLength: 60 }).map((text) => Buffer.from(text)),
  { minLength: 1, maxLength: 8 },
);

const segmentOf = (items: readonly Buffer[]) => Buffer.concat(items.map(frameRecord));

const recordsIn = (segment: Buffer) =>
  [...readRecords(segment)].flatMap((found) => (found.kind === 'record' ? [found.payload] : []));

const startOf = (items: readonly Buffer[], index: number) => segmentOf(items.slice(0, index)).length;

describe('a segment', () => {
  it('gives back what was written, in order', () => {
    fc.assert(
      fc.property(payloads, (items) => {
        expect(recordsIn(segmentOf(items))).toEqual(items);
      }),
    );
  });

  it('cut at any byte gives every record before the cut, and says that the rest is torn', () => {
    fc.assert(
      fc.property(payloads, fc.nat(), (items, cutAt) => {
        const whole = segmentOf(items);
        const cut = cutAt % whole.length;
        const kept = items.filter((_, index) => startOf(items, index + 1) <= cut);
        const found = [...readRecords(whole.subarray(0, cut))];
        expect(found.filter(({ kind }) => kind === 'record')).toHaveLength(kept.length);
        const rest = found.slice(kept.length).map(({ kind }) => kind);
        expect(rest).toEqual(cut === startOf(items, kept.length) ? [] : ['torn']);
      }),
    );
  });

  it('with one damaged record gives all others, and the damaged bytes as they are', () => {
    fc.assert(
      fc.property(payloads, fc.nat(), fc.integer({ min: 1, max: 255 }), (items, where, flip) => {
        const segment = segmentOf(items);
        const at = where % segment.length;
        segment.writeUInt8(segment.readUInt8(at) ^ flip, at);
        const hit = items.findIndex((_, index) => at < startOf(items, index + 1));
        expect(recordsIn(segment)).toEqual(items.filter((_, index) => index !== hit));
        const damaged = [...readRecords(segment)].filter(({ kind }) => kind === 'damaged');
        expect(damaged).toEqual([
          { kind: 'damaged', bytes: segment.subarray(startOf(items, hit), startOf(items, hit + 1)) },
        ]);
      }),
    );
  });

  it('that ends in space which was never filled is torn there', () => {
    const segment = Buffer.concat([frameRecord(Buffer.from('kept')), Buffer.alloc(100)]);
    expect([...readRecords(segment)].map(({ kind }) => kind)).toEqual(['record', 'torn']);
  });

  it('of any bytes at all accounts for every byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const lengths = [...readRecords(Buffer.from(bytes))].map((found) =>
          found.kind === 'record' ? 16 + found.payload.length : found.bytes.length,
        );
        expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(bytes.length);
      }),
    );
  });
});
