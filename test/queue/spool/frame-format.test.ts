import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { framePayload, readFrames } from '../../../src/queue/spool/segment-file.ts';
import { anyCharacter } from '../../support/any-character.ts';

/** The spool contains JSON, so any text represents it; other bytes would also do, except for the mark. */
const payloads = fc.array(
  fc.string({ unit: anyCharacter, maxLength: 60 }).map((text) => Buffer.from(text)),
  { minLength: 1, maxLength: 8 },
);

const segmentOf = (items: readonly Buffer[]) => Buffer.concat(items.map(framePayload));

const payloadsIn = (segment: Buffer) =>
  [...readFrames(segment)].flatMap((found) => (found.kind === 'frame' ? [found.payload] : []));

const startOf = (items: readonly Buffer[], index: number) => segmentOf(items.slice(0, index)).length;

describe('a segment', () => {
  it('gives back what was written, in order', () => {
    fc.assert(
      fc.property(payloads, (items) => {
        expect(payloadsIn(segmentOf(items))).toEqual(items);
      }),
    );
  });

  it('cut at any byte gives every frame before the cut, and reports the rest as torn', () => {
    fc.assert(
      fc.property(payloads, fc.nat(), (items, cutAt) => {
        const whole = segmentOf(items);
        const cut = cutAt % whole.length;
        const kept = items.filter((_, index) => startOf(items, index + 1) <= cut);
        const found = [...readFrames(whole.subarray(0, cut))];
        expect(found.filter(({ kind }) => kind === 'frame')).toHaveLength(kept.length);
        const rest = found.slice(kept.length).map(({ kind }) => kind);
        expect(rest).toEqual(cut === startOf(items, kept.length) ? [] : ['torn']);
      }),
    );
  });

  it('with one damaged frame gives all others, and the damaged bytes as they are', () => {
    fc.assert(
      fc.property(payloads, fc.nat(), fc.integer({ min: 1, max: 255 }), (items, where, flip) => {
        const segment = segmentOf(items);
        const at = where % segment.length;
        segment.writeUInt8(segment.readUInt8(at) ^ flip, at);
        const hit = items.findIndex((_, index) => at < startOf(items, index + 1));
        expect(payloadsIn(segment)).toEqual(items.filter((_, index) => index !== hit));
        const damaged = [...readFrames(segment)].filter(({ kind }) => kind === 'damaged');
        expect(damaged).toEqual([
          { kind: 'damaged', bytes: segment.subarray(startOf(items, hit), startOf(items, hit + 1)) },
        ]);
      }),
    );
  });

  it('that ends in space which was never filled is torn there, and damaged if a frame follows', () => {
    const [frame, space] = [framePayload(Buffer.from('kept')), Buffer.alloc(100)];
    const kindsIn = (...parts: Buffer[]) => [...readFrames(Buffer.concat(parts))].map(({ kind }) => kind);
    expect(kindsIn(frame, space)).toEqual(['frame', 'torn']);
    expect(kindsIn(frame, space, frame)).toEqual(['frame', 'damaged', 'frame']);
  });

  it('of any bytes at all accounts for every byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const lengths = [...readFrames(Buffer.from(bytes))].map((found) =>
          found.kind === 'frame' ? 16 + found.payload.length : found.bytes.length,
        );
        expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(bytes.length);
      }),
    );
  });
});
