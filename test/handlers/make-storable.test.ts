import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, isJsonObject, parseExactJson } from '../../src/events/exact-json.ts';
import { makeStorable, mayBeUnstorable } from '../../src/handlers/coerce.ts';

describe('makeStorable', () => {
  const HALVES = ['\\ud800', '\\udbff', '\\udc00', '\\udfff', '\\u0000', '\\ude00\\ud83d'];

  const storable = (json: string) => {
    const record = parseExactJson(json);
    return canonicalJson(isJsonObject(record) && mayBeUnstorable(json) ? makeStorable(record) : record);
  };

  it('replaces NUL and half surrogate pairs in values and keys, at any depth, and nothing else', () => {
    expect(storable(String.raw`{"a\u0000b":["x\u0000y",{"k":"\ud83d"}],"\udc00":1.0}`)).toBe(
      '{"a\uFFFDb":["x\uFFFDy",{"k":"\uFFFD"}],"\uFFFD":1.0}',
    );
    expect(storable(String.raw`{"whole":"\ud83d\ude00","text":"\\u0000","tab":"\u0001"}`)).toBe(
      String.raw`{"tab":"\u0001","text":"\\u0000","whole":"😀"}`,
    );
  });

  it.each(HALVES)('replaces %s where it stands alone', (escape) => {
    const replaced = '\uFFFD'.repeat(escape.length / 6);
    expect(storable(`{"a":"x${escape}"}`)).toBe(`{"a":"x${replaced}"}`);
    expect(storable(`{"${escape.toUpperCase().replaceAll('U', 'u')}":1}`)).toBe(`{"${replaced}":1}`);
  });

  it('is not needed for usual text, and is for text that has half a pair as it is', () => {
    expect(mayBeUnstorable(String.raw`{"a":"\n\u00e9 é 😀 \\ \u0001","b":1.50}`)).toBe(false);
    expect(mayBeUnstorable(`{"a":"\ud800"}`)).toBe(true);
    expect(storable(`{"a":"\ud800"}`)).toBe('{"a":"\uFFFD"}');
  });

  it('keeps the digits and the __proto__ of a record in which it replaces something', () => {
    expect(storable(String.raw`{"__proto__":{"n":"\u0000"},"id":9223372036854775807,"x":1.50}`)).toBe(
      '{"__proto__":{"n":"\uFFFD"},"id":9223372036854775807,"x":1.50}',
    );
  });

  /** Code units, not characters: half of a pair is often alone. */
  const text = fc
    .array(fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u', '0', 'd', '8', '"', '\uFFFD'))
    .map((units) => units.join(''));

  it('gives what Postgres takes, whatever the record, and changes no record twice', () => {
    fc.assert(
      fc.property(
        fc.dictionary(text, fc.oneof(text, fc.array(text), fc.dictionary(text, text))),
        (record) => {
          const made = makeStorable(record);
          expect(JSON.stringify(made)).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i);
          expect(makeStorable(made)).toEqual(made);
        },
      ),
    );
  });
});
