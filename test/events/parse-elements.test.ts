import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseElements, parseExactJson } from '../../src/events/exact-json.ts';

/** Makes a text so large that it is read element by element. */
const LARGE = `"${'x'.repeat(128 * 1024)}"`;

describe('the elements of a large array', () => {
  it('are those that the parser reads at once, whatever they hold', () => {
    const awkward = fc.constantFrom('[', ']', '{"', '"}', '\\', '\\"', ',', '[,]', '\\\\"');
    // V8 itself (Node.js 24.21) reads the name "\"}" as another one, \", if that stood at its place in an object before:
    // it compares the text before it is unescaped. So no name here begins with a backslash.
    const awkwardName = awkward.filter((name) => !name.startsWith('\\'));
    const value = fc.oneof(
      fc.jsonValue(),
      awkward,
      fc.dictionary(awkwardName, fc.oneof(awkward, fc.jsonValue())),
    );
    const space = fc.constantFrom('', ' ', '\n\t');
    fc.assert(
      fc.property(fc.array(value), space, (values, blank) => {
        const texts = [LARGE, ...values.map((one) => JSON.stringify(one, undefined, blank))];
        const text = `${blank}[${texts.join(`${blank},${blank}`)}${blank}]${blank}`;
        expect([...parseElements(text)]).toEqual(parseExactJson(text));
      }),
    );
  });

  it.each([
    ['an element too few', `[${LARGE},]`],
    ['an element missing', `[${LARGE},,1]`],
    ['no end', `[${LARGE}`],
    ['a string without an end', `[${LARGE},"]`],
    ['the wrong bracket', `[${LARGE}}`],
    ['more behind it', `[${LARGE}] 1`],
    ['a bracket too many', `[${LARGE}]]`],
    ['something before it', `1[${LARGE}]`],
    ['two arrays', `[1][${LARGE}]`],
    ['an object', `{"a":${LARGE}}`],
    ['a string', LARGE],
    ['an object, small', '{"a":1}'],
  ])('are not read from what is no array: %s', (_, text) => {
    expect(() => [...parseElements(text)]).toThrow(SyntaxError);
  });

  it('are none of an empty one', () => {
    expect([...parseElements(`[${' '.repeat(200_000)}]`)]).toEqual([]);
  });
});
