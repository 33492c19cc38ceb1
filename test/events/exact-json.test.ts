import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, isJsonObject, isRawNumber, parseExactJson } from '../../src/events/exact-json.ts';
import { anyCharacter } from '../support/any-character.ts';

/** JSON before it is spelled: numbers are texts, so that nothing here goes through a double. */
type Model =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'array'; readonly items: readonly Model[] }
  | { readonly kind: 'object'; readonly members: Members };

type Members = readonly (readonly [string, Model])[];

const digits = (min: number, max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map((all) => all.join(''));

const whole = fc.oneof(
  fc.constant('0'),
  fc.tuple(fc.integer({ min: 1, max: 9 }), digits(0, 25)).map((parts) => parts.join('')),
  fc.constantFrom('9007199254740993', '9223372036854775807', '1000000000000000000000'),
);

/** Every spelling that RFC 8259 allows, the awkward ones often. */
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    whole,
    fc.oneof(
      fc.constant(''),
      digits(1, 25).map((text) => `.${text}`),
      fc.constantFrom('.0', '.00', '.10', '.0000001', '.30000000000000004'),
    ),
    fc.oneof(
      fc.constant(''),
      fc
        .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.integer({ min: 0, max: 999 }))
        .map((parts) => parts.join('')),
    ),
  )
  .map((parts) => parts.join(''));

/** Texts in which the parser could mistake a number for one of its own, or text for a number. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'rawJSON',
    ':1.0,',
    '[12345678901234567890]',
    '\\',
    '"',
    '\u0000',
  ),
);

/**
 * No key holds a backslash: the V8 of Node.js 24 takes a key such as "\\n" for another whose characters are those of
 * its escape sequence, if an object of the same shape had that one before. Nothing here can mend it.
 */
const key = text.filter((name) => !name.includes('\\'));

const { model } = fc.letrec<{ model: Model }>((tie) => ({
  model: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc
      .oneof(numberText, fc.constantFrom('true', 'false', 'null'))
      .map((of) => ({ kind: 'literal', text: of }) as const),
    text.map((value) => ({ kind: 'string', value }) as const),
    fc.array(tie('model'), { maxLength: 5 }).map((items) => ({ kind: 'array', items }) as const),
    fc
      .uniqueArray(fc.tuple(key, tie('model')), { selector: ([name]) => name, maxLength: 5 })
      .map((members) => ({ kind: 'object', members }) as const),
  ),
}));

const space = fc.array(fc.constantFrom(' ', '\t', '\n', '\r'), { maxLength: 3 }).map((all) => all.join(''));

/** Spells a model as a sender might, with white space anywhere; `arrange` gives the order of the members. */
function spell(
  value: Model,
  gap: string,
  arrange: (members: Members) => Members = (members) => members,
): string {
  const inner = (of: Model) => `${gap}${spell(of, gap, arrange)}${gap}`;
  switch (value.kind) {
    case 'literal':
      return value.text;
    case 'string':
      return JSON.stringify(value.value);
    case 'array':
      return `[${value.items.map(inner).join(',')}]`;
    case 'object':
      return `{${arrange(value.members)
        .map(([name, member]) => `${gap}${JSON.stringify(name)}${gap}:${inner(member)}`)
        .join(',')}}`;
  }
}

/** By code units: what canonical means, written independently of the code. */
const sorted = (members: Members) => members.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

const canonical = (sent: string) => canonicalJson(parseExactJson(sent));

describe('parseExactJson with canonicalJson', () => {
  it('loses no digit of any number, whatever its spelling and wherever it stands', () => {
    fc.assert(
      fc.property(model, space, (value, gap) => {
        expect(canonical(gap + spell(value, gap) + gap)).toBe(spell(value, '', sorted));
      }),
      { numRuns: 2_000 },
    );
  });

  it('gives a record the same text alone and beside a number that the plain parser would change', () => {
    fc.assert(
      fc.property(model, (value) => {
        const sent = spell(value, '');
        expect(canonical(`[1.0,${sent},12345678901234567890]`)).toBe(
          `[1.0,${canonical(sent)},12345678901234567890]`,
        );
      }),
      { numRuns: 500 },
    );
  });

  it.each(['1e1001', '-1e-1001', '1E+99999999999999999999', '7'.repeat(1001), `0.${'3'.repeat(1000)}`])(
    'keeps a number that no column holds as a string of its text (%#)',
    (number) => {
      expect(parseExactJson(`[${number}]`)).toEqual([number]);
    },
  );

  it.each(['', '{', '[1.0', '[01]', '[1.]', '[.5]', '[1e]', '[0x10,1.0]', "{'a':1.0}", '[NaN,1.0]', '1.0 2'])(
    'refuses %s, which is not JSON',
    (wrong) => {
      expect(() => parseExactJson(wrong)).toThrow(SyntaxError);
    },
  );

  it('takes the last of two equal keys, as JSON.parse does, on either path', () => {
    expect(canonical('{"a":1,"a":2}')).toBe('{"a":2}');
    expect(canonical('{"a":1.0,"a":[2.0]}')).toBe('{"a":[2.0]}');
  });

  it.each(['1', '1.0'])('keeps __proto__ a member like any other (beside %s)', (number) => {
    const parsed = parseExactJson(`{"__proto__":{"polluted":true},"a":${number}}`);
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    expect('polluted' in Object.prototype).toBe(false);
    expect(canonicalJson(parsed)).toBe(`{"__proto__":{"polluted":true},"a":${number}}`);
  });
});

describe('canonicalJson', () => {
  it('sorts the keys of each object as if it were the first, whatever others came before', () => {
    const shuffled = fc.uniqueArray(fc.constantFrom('b', 'a', '10', '9', '', 'é', '\uFFFF', '😀', 'c"d'), {
      minLength: 1,
    });
    fc.assert(
      fc.property(fc.array(shuffled, { minLength: 2, maxLength: 10 }), (all) => {
        for (const keys of [...all, ...all]) {
          const members = keys.map((name, index) => [name, index] as const);
          const expected = members
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, index]) => `${JSON.stringify(name)}:${index}`);
          expect(canonicalJson(Object.fromEntries(members))).toBe(`{${expected.join(',')}}`);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is right for more shapes of objects than it remembers, and for large ones', () => {
    const record = (n: number) => ({ [`z${n % 400}`]: n, y: { [`k${n}`]: 1, a: 2 }, b: null });
    for (let n = 0; n < 2_000; n += 1) {
      expect(canonicalJson(record(n))).toBe(`{"b":null,"y":{"a":2,"k${n}":1},"z${n % 400}":${n}}`);
    }
    const names = Array.from({ length: 5_000 }, (_, n) => `n${String(n).padStart(4, '0')}`);
    const large = Object.fromEntries(names.toReversed().map((name) => [name, 0]));
    expect(canonicalJson(large)).toBe(`{${names.map((name) => `"${name}":0`).join(',')}}`);
  });
});

it('isJsonObject is true of objects only, not of a number kept as text nor of what looks like one', () => {
  const lookalike: unknown = JSON.parse('{"rawJSON":"1"}');
  expect([{}, lookalike].map(isJsonObject)).toEqual([true, true]);
  expect([[], 1, null, 'text', parseExactJson('1.0')].map(isJsonObject)).toEqual(Array(5).fill(false));
  expect([parseExactJson('1.0'), lookalike].map(isRawNumber)).toEqual([true, false]);
});
