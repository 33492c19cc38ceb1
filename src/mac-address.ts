/** A MAC address of any notation in the usual one, `aa:bb:cc:dd:ee:ff`. Undefined when the text is not one. */
export function parseMacAddress(text: string): string | undefined {
  const digits = text.replaceAll(/[-:. ]/g, '').toLowerCase();
  return /^[0-9a-f]{12}$/.test(digits) ? digits.match(/../g)?.join(':') : undefined;
}
