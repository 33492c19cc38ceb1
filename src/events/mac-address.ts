/** A MAC address in any notation, as part of a regular expression: colons, hyphens, dots, blanks, or nothing between digits. */
export const MAC_SOURCE = '[0-9a-f]{2}(?:[-:. ]?[0-9a-f]{2}){5}';

const WHOLE = /^[0-9a-f]{12}$/;

/** A MAC address, or part of one, without what separates its digits: `aabbccddeeff`. */
export const macDigits = (text: string): string => text.replaceAll(/[-:. ]/g, '').toLowerCase();

/** Digits of a MAC address in the usual notation: `aa:bb:cc:dd:ee:ff`. */
export const writeMac = (digits: string, separator = ':'): string =>
  digits.match(/..?/g)?.join(separator) ?? '';

/** A MAC address of any notation in the usual one. Undefined when the text is not one. */
export function parseMacAddress(text: string): string | undefined {
  const digits = macDigits(text);
  return WHOLE.test(digits) ? writeMac(digits) : undefined;
}
