const INTEGER = /^-?\d+$/;

/**
 * Reads JSON without rounding identifiers: an integer beyond 2^53 comes back as a string of its exact digits,
 * every other value as usual. Throws `SyntaxError`, whose message may quote the text.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text, keepDigits);
  return value;
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
  const digits = context?.source;
  return digits !== undefined && INTEGER.test(digits) ? digits : value;
}
