import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { expectationOf, parseJson } from '../../src/cloud/json.ts';

test('an integer beyond 2^53 comes back as its exact digits, wherever it stands', () => {
  expect(parseJson('{"id":9223372036854775807,"ids":[-9007199254740993,1]}')).toEqual({
    id: '9223372036854775807',
    ids: ['-9007199254740993', 1],
  });
});

test('every int64 survives as text or as the same number', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (id) => {
      expect(String(parseJson(String(id)))).toBe(String(id));
    }),
  );
});

test('JSON without such numbers reads as JSON.parse reads it', () => {
  const value = fc.oneof(
    fc.maxSafeInteger(),
    fc.double({ min: -1e6, max: 1e6 }),
    fc.string(),
    fc.boolean(),
    fc.constant(null),
  );
  fc.assert(
    fc.property(fc.array(fc.dictionary(fc.string(), value)), (records) => {
      const text = JSON.stringify(records);
      expect(parseJson(text)).toEqual(JSON.parse(text));
    }),
  );
});

test('the first wrong member is named with what it should be, as far as that is known', () => {
  const form = z.object({ a: z.union([z.object({ b: z.number() }), z.null()]), c: z.string().optional() });
  const kinds = z.discriminatedUnion('kind', [z.object({ kind: z.literal('x') })]);
  const errors = [form.safeParse({ a: { b: 'x' }, c: 1 }), form.safeParse(1), kinds.safeParse({ kind: 'y' })];
  expect(errors.map(({ error }) => error && expectationOf(error))).toEqual([
    'number, received string at a.b',
    'object, received number',
    'another form at kind',
  ]);
});
