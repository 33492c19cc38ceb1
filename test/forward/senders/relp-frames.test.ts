import { array, assert, constantFrom, integer, nat, property, record, string, tuple } from 'fast-check';
import { expect, test } from 'vitest';
import { createFrameReader, MAX_TXNR, writeFrame } from '../../../src/forward/senders/relp-session.ts';
import { anyCharacter } from '../../support/any-character.ts';

const frame = record({
  txnr: integer({ min: 0, max: MAX_TXNR }),
  command: constantFrom('rsp', 'serverclose', 'open', 'x'.repeat(32)),
  data: string({ unit: anyCharacter, maxLength: 200 }),
});

test('frames are read as they were written, wherever the chunks are cut', () => {
  assert(
    property(tuple(array(frame), array(nat())), ([frames, cuts]) => {
      const bytes = Buffer.from(frames.map(writeFrame).join(''));
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
      const read = createFrameReader();
      const found = places.slice(1).flatMap((place, index) => read(bytes.subarray(places[index], place)));
      expect(found).toEqual(frames);
    }),
  );
});

test('the length counts bytes, and a frame without data has none', () => {
  expect(writeFrame({ txnr: 7, command: 'syslog', data: 'Grüße' })).toBe('7 syslog 7 Grüße\n');
  expect(writeFrame({ txnr: 8, command: 'close', data: '' })).toBe('8 close 0\n');
});

test.each([
  ['HTTP/1.1 400 Bad Request', /answered not in RELP but with "HTTP/],
  ['1234567890 rsp 0\n', /answered not in RELP/],
  [`1 ${'x'.repeat(33)} 0\n`, /answered not in RELP/],
  ['1 rsp 6\n200 OK\n', /frame 1 lacks its data/],
  ['1 rsp 6 200 OK!\n', /frame 1 does not end after its data/],
  ['1 rsp 999999999 2', /announced an answer of 999999999 bytes/],
])('%j is an error', (bytes, problem) => {
  expect(() => createFrameReader()(Buffer.from(bytes))).toThrow(problem);
});
