import { expect, it } from 'vitest';
import { showBytes } from '../../../src/lib/text/show-bytes.ts';

it('text is shown as it is, with its hidden characters escaped', () => {
  expect(showBytes(Buffer.from('Zoë \u202e'), '')).toBe('Zoë \\u202e');
});

it('other bytes are dumped, 16 a line with their offset and what is ASCII, and said to be more than shown', () => {
  const lines = showBytes(
    Buffer.concat([Buffer.from('\xff0123456789abcdef', 'latin1'), Buffer.alloc(4_096)]),
    'see FILE',
  );
  expect(lines.split('\n').slice(0, 2)).toEqual([
    '00000000  ff 30 31 32 33 34 35 36 37 38 39 61 62 63 64 65  .0123456789abcde',
    '00000010  66 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  f...............',
  ]);
  expect(lines.split('\n').slice(-1)).toEqual(['17 more bytes: see FILE']);
  expect(lines.split('\n')).toHaveLength(4_096 / 16 + 1);
});
