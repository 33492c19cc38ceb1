import { expect, it } from 'vitest';
import { countOf, formatBytes, formatDuration, formatElapsed } from '../../../src/lib/text/units.ts';

it.each([
  [0, '0 s'],
  [59.1, '1 min'],
  [130, '2 min 10 s'],
  [3_600, '1 h'],
  [86_399, '23 h 59 min'],
  [86_400 + 5 * 3_600 + 59 * 60, '1 d 5 h'],
])('%d seconds are %s', (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});

it.each([
  [0.0028, '2.8 ms'],
  [0.3404, '340 ms'],
  [1, '1 s'],
])('%d seconds took %s', (seconds, text) => {
  expect(formatElapsed(seconds)).toBe(text);
});

it.each([
  [0, '0 bytes'],
  [1_023, '1023 bytes'],
  [1_024, '1.0 KiB'],
  [10 * 1_024, '10 KiB'],
  [3.2 * 1_024 ** 3, '3.2 GiB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

it('counts one, and more than one', () => {
  expect([countOf(1, 'event'), countOf(2_000, 'delivery', 'deliveries')]).toEqual([
    '1 event',
    '2,000 deliveries',
  ]);
});
