import { CASES, INVISIBLE, MARKS, UNKNOWN } from './folding-lists.ts';

/** The list as the content of a character class in a regular expression; `escape` writes a code point. */
export const classOf = (list: string, escape = (hex: string) => `\\u{${hex}}`): string =>
  list.replaceAll(/[\da-f]+/g, escape).replaceAll(/\s+/g, '');

/** Each character that has a lower case, with that. */
export const LOWER: ReadonlyMap<string, string> = new Map(
  CASES.split(' ').flatMap((range) => {
    const [, first = '', second, last = first, distance = ''] =
      /^([\da-f]+)(?:([-/])([\da-f]+))??([-+][\da-f]+)$/.exec(range) ?? [];
    const [from, to] = [Number.parseInt(first, 16), Number.parseInt(last, 16)];
    const step = second === '/' ? 2 : 1;
    return Array.from({ length: (to - from) / step + 1 }, (_, number): [string, string] => {
      const point = from + number * step;
      return [String.fromCodePoint(point), String.fromCodePoint(point + Number.parseInt(distance, 16))];
    });
  }),
);

const IS_ASCII = /^[\0-\x7f]*$/;
const IS_RARE = new RegExp(`[${classOf(INVISIBLE)}${classOf(UNKNOWN)}]`, 'u');
const ALL_INVISIBLE = new RegExp(`[${classOf(INVISIBLE)}]+`, 'gu');
const KNOWN = new RegExp(`[^${classOf(UNKNOWN)}]+`, 'gu');
/** The engine leaves these as they are, or they are a sigma, whose form it takes from its place. */
const VARIANTS = new Map(LOWER.entries().filter(([letter, lower]) => letter.toLowerCase() !== lower));
const ALL_VARIANTS = new RegExp(`[${[...VARIANTS.keys()].join('')}]`, 'gu');
/** More marks in a row than any writing has (UAX #15, section 13): to sort them takes the square of their number. */
export const MOST_MARKS = 30;
const MANY_MARKS = new RegExp(`([${classOf(MARKS)}]{${MOST_MARKS}})[${classOf(MARKS)}]+`, 'gu');

/**
 * A text as it is compared: without the differences of case, of compatible characters (Unicode NFKC: composed letters and
 * letters with marks, full width), and without characters that are not seen. `ss` is ß, both forms of sigma are one, and so
 * are i with a dot, without one, and with one more. The function of this name in the database does the same.
 */
export function fold(text: string): string {
  if (IS_ASCII.test(text)) return text.toLowerCase();
  return IS_RARE.test(text)
    ? text.replaceAll(ALL_INVISIBLE, '').replaceAll(KNOWN, foldKnown)
    : foldKnown(text);
}

/** The parts of a pattern between its stars, folded each for itself. */
export const foldParts = (pattern: string): readonly string[] => pattern.split('*').map(fold);

/** A letter has its case apart from its marks in NFKD. */
const foldKnown = (text: string) =>
  (text.length > MOST_MARKS ? text.replaceAll(MANY_MARKS, '$1') : text)
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(ALL_VARIANTS, (letter) => VARIANTS.get(letter) ?? letter)
    .replaceAll('ß', 'ss')
    .replaceAll('i\u0307', 'i')
    .normalize('NFKC');
