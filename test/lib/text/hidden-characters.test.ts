import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeHiddenInJson, revealHidden, revealOnLine } from '../../../src/lib/text/hidden-characters.ts';
import { anyCharacter } from '../../support/any-character.ts';

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index));

const HIDDEN = [
  ...range(0x00, 0x08),
  ...range(0x0b, 0x1f),
  ...range(0x7f, 0x9f),
  '\u00AD',
  '\u034F',
  '\u061C',
  '\u115F',
  '\u180E',
  ...range(0x200b, 0x200f),
  ...range(0x2028, 0x202e),
  ...range(0x2060, 0x206f),
  '\u3164',
  ...range(0xfe00, 0xfe0f),
  '\uFEFF',
  ...range(0xfff9, 0xfffb),
  ...range(0xe0000, 0xe007f),
  ...range(0xe0100, 0xe01ef),
];

/** Any text, with many hidden characters. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.constantFrom(...HIDDEN, '\n', '\t', '\r\n', '\\', '"', '😀'),
    ),
  )
  .map((parts) => parts.join(''));

describe('a hidden character', () => {
  it('is shown as its number, wherever it is', () => {
    for (const character of HIDDEN) {
      const shown = character
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
      for (const [before, after] of [
        ['a', 'b'],
        ['', ''],
        ['\n', '\t'],
        [' ', '1'],
      ]) {
        expect(revealHidden(`${before}${character}${after}`)).toBe(`${before}${shown.join('')}${after}`);
      }
    }
  });

  it('of a line is shown as well if it is a tab, and line breaks are blanks', () => {
    expect(revealOnLine('one\r\n  two\n\n\nthree\tfour\u202E')).toBe('one two three\\u0009four\\u202e');
    fc.assert(
      fc.property(anyText, (text) => {
        expect(revealOnLine(text)).not.toMatch(
          /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\u200B-\u200C]/u,
        );
      }),
    );
  });

  it('in JSON is escaped, and the text is the same when it is parsed', () => {
    fc.assert(
      fc.property(
        fc.record({ text: anyText, list: fc.array(anyText) }),
        fc.constantFrom(0, 2),
        (value, indent) => {
          const json = escapeHiddenInJson(JSON.stringify(value, null, indent));
          expect(JSON.parse(json)).toEqual(value);
          expect(json.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u);
        },
      ),
    );
  });
});

describe('text that people read as it is', () => {
  it.each([
    'naïve 日本 😀 x',
    'first\nsecond\r\n\tthird',
    'שלום مرحبا',
    'e\u0301te\u0301',
    '❤\uFE0F \u{1F469}\u200D\u{1F4BB} \u{1F469}\u{1F3FD}\u200D\u2695\uFE0F \u{1F3F3}\uFE0F\u200D\u{1F308}',
  ])('stays: %j', (text) => {
    expect(revealHidden(text)).toBe(text);
  });

  it('has no joiner and no variation selector outside emoji', () => {
    expect(revealHidden('a\u200Db\uFE0F 😀\uFE0F\uFE0F 😀\u200Dx x\u200D😀')).toBe(
      'a\\u200db\\ufe0f 😀\uFE0F\\ufe0f 😀\\u200dx x\\u200d😀',
    );
  });
});
