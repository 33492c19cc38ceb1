const IS_ASCII = /^[\0-\x7f]*$/;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * A text as it is compared: without the differences of case, of compatible characters (Unicode NFKC: composed letters and
 * letters with marks, full width), and without characters that are not seen.
 */
export function fold(text: string): string {
  if (IS_ASCII.test(text)) return text.toLowerCase();
  // To upper case first: only this way, ß and ss, and both forms of sigma, are one.
  const plain = compose(text).replaceAll(INVISIBLE, '').toUpperCase();
  return compose(plain.toLowerCase());
}

/** More marks in a row than any writing has (UAX #15, section 13): to sort them takes the square of their number. */
const MANY_MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;

const compose = (text: string) => text.replaceAll(MANY_MARKS, '$1').normalize('NFKC');
