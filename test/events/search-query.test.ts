import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSearch, printSearch, type SearchKey, type SearchTerm } from '../../src/events/search-query.ts';

const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((value) => !value.includes('\0'));
const digits = fc.stringMatching(/^[0-9a-f]{12}$/);
const number = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);

const address = fc.oneof(
  digits.map((one) => ({ text: (one.match(/../g) ?? []).join(':'), isPrefix: false })),
  fc
    .stringMatching(/^[0-9a-f]{1,12}$/)
    .map((one) => ({ text: (one.match(/..?/g) ?? []).join(':'), isPrefix: true })),
);
const exact = (of: fc.Arbitrary<string>) => of.map((one) => ({ text: one, isPrefix: false }));
const named = fc.record({ text, isPrefix: fc.boolean() });

/** Terms of a key with values of this kind. */
const termOf = (key: SearchKey, value: fc.Arbitrary<SearchTerm['values'][number]>) =>
  fc.record({
    key: fc.constant(key),
    values: fc.array(value, { minLength: 1, maxLength: 3 }),
    isExcluded: fc.boolean(),
  });

const term = fc.oneof(
  termOf('type', exact(fc.constantFrom('audit', 'location', 'AUDIT_LOG_ALL', 'gdpr'))),
  termOf('user', named),
  termOf('client', address),
  termOf('ap', address),
  termOf('mac', address),
  termOf('ssid', named),
  termOf('device', named),
  termOf('code', exact(number)),
  termOf('org', exact(number)),
  termOf('source', named),
  termOf('origin', exact(fc.constantFrom('webhook', 'backfill'))),
  termOf('action', exact(fc.constantFrom('login', 'private-key-created', 'Client seen'))),
  termOf('outcome', exact(fc.constantFrom('success', 'Failure'))),
  termOf('text', exact(text)),
);

const one = (key: SearchTerm['key'], value: string, more: Partial<SearchTerm> = {}, isPrefix = false) => ({
  key,
  values: [{ text: value, isPrefix }],
  isExcluded: false,
  ...more,
});

describe('a search line', () => {
  it('is printed so that it parses to the same terms', () => {
    fc.assert(
      fc.property(fc.array(term, { maxLength: 5 }), (terms) => {
        expect(parseSearch(printSearch(terms))).toEqual({ terms });
      }),
    );
  });

  it('parses or names its problem, whatever is entered', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (written) => {
        const parsed = parseSearch(written);
        const again = parsed.terms === undefined ? parsed : parseSearch(printSearch(parsed.terms));
        expect(again).toEqual(parsed);
        expect(parsed.problem).not.toBe('');
      }),
    );
  });

  it('consists of terms, addresses and texts', () => {
    expect(
      parseSearch('user:Dina* code:10001,10002 -type:location ap:C4-13* "a \\"b\\"" -word AABB.CCDD.EEFF'),
    ).toEqual({
      terms: [
        one('user', 'Dina', {}, true),
        {
          ...one('code', '10001'),
          values: ['10001', '10002'].map((code) => ({ text: code, isPrefix: false })),
        },
        one('type', 'location', { isExcluded: true }),
        one('ap', 'c4:13', {}, true),
        one('text', 'a "b"'),
        one('text', 'word', { isExcluded: true }),
        one('mac', 'aa:bb:cc:dd:ee:ff'),
      ],
    });
    expect(parseSearch(' aa:bb:cc:dd:ee:ff ')).toEqual({ terms: [one('mac', 'aa:bb:cc:dd:ee:ff')] });
    expect(parseSearch('')).toEqual({ terms: [] });
  });

  it.each([
    ['usr:ann', 'did you mean "user"?'],
    ['colour:red', 'known are type, user'],
    ['code:x', 'must be a whole number'],
    ['ap:xyz', 'must be a MAC address'],
    ['ap:c4:13', 'ap:c4:13*'],
    ['type:nonsense', 'is not a message type or family'],
    ['origin:web', 'is not an origin'],
    ['user:', 'is incomplete'],
    ['"open', 'is incomplete'],
  ])('%s has a problem: %s', (written, problem) => {
    expect(parseSearch(written).problem).toContain(problem);
  });
});
