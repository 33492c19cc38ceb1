import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { path } from '../../src/cloud/addresses.ts';

test('an identifier of any text stays one segment of a path and reads back as it was', () => {
  const identifier = fc.string({ minLength: 1 }).filter((id) => id !== '.' && id !== '..');
  fc.assert(
    fc.property(identifier, (id) => {
      const segments = new URL(`http://cloud.test${path`/devices/${id}/:cli`}`).pathname.split('/');
      expect([segments.length, segments[3]]).toEqual([4, ':cli']);
      expect(decodeURIComponent(segments[2] ?? '')).toBe(id);
    }),
  );
});

test.each(['', '.', '..'])('an identifier that would change the path is refused: %j', (id) => {
  expect(() => path`/devices/${id}`).toThrow(TypeError);
});
