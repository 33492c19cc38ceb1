/** A MAC address as part of a regular expression: colons, hyphens, dots, underscores, blanks, or nothing between digits. */
export const MAC_SOURCE = '[0-9a-f]{2}(?:[-:. _]?[0-9a-f]{2}){5}';

/** The same of systems that print no zero before a digit. */
export const SHORTENED_MAC = '(?:[0-9a-f]{1,2}[-:]){5}[0-9a-f]{1,2}';

const WHOLE = /^[0-9a-f]{12}$/;
const SHORTENED = new RegExp(`^${SHORTENED_MAC}$`, 'i');

/** A MAC address, or part of one, without what separates its digits: `aabbccddeeff`. */
export const macDigits = (text: string): string => text.replaceAll(/[-:. _]/g, '').toLowerCase();

/** The same of a whole address, which may be shortened. */
export const wholeMacDigits = (text: string): string =>
  macDigits(SHORTENED.test(text) ? text.replaceAll(/\b[0-9a-f]\b/gi, '0$&') : text);

/** Digits of a MAC address in the usual notation: `aa:bb:cc:dd:ee:ff`. */
export const writeMac = (digits: string, separator = ':'): string =>
  digits.match(/..?/g)?.join(separator) ?? '';

/** A MAC address of any notation in the usual one. Undefined when the text is not one. */
export function parseMacAddress(text: string): string | undefined {
  const digits = wholeMacDigits(text);
  return WHOLE.test(digits) ? writeMac(digits) : undefined;
}
