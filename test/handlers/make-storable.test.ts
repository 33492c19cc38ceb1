import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, isJsonObject, parseExactJson } from '../../src/events/exact-json.ts';
import { makeStorable, mayBeUnstorable } from '../../src/handlers/coerce.ts';

describe('makeStorable', () => {
  const storable = (json: string) => {
    const record = parseExactJson(json);
    return canonicalJson(isJsonObject(record) && mayBeUnstorable(json) ? makeStorable(record) : record);
  };

  it('is not needed for usual text, and is for text that has half a pair as it is', () => {
    expect(mayBeUnstorable(String.raw`{"a":"\n\u00e9 é 😀 \\ \u0001","b":1.50}`)).toBe(false);
    expect(mayBeUnstorable(`{"a":"\ud800"}`)).toBe(true);
    expect(storable(`{"a":"\ud800"}`)).toBe('{"a":"\uFFFD"}');
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
