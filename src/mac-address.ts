/** The usual notation of a MAC address written in any: `aa:bb:cc:dd:ee:ff`. Undefined when it is none. */
export function parseMacAddress(text: string): string | undefined {
  const digits = text.replaceAll(/[-:. ]/g, '').toLowerCase();
  return /^[0-9a-f]{12}$/.test(digits) ? digits.match(/../g)?.join(':') : undefined;
}
