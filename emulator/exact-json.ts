declare global {
  // In Node.js since 21, not yet in TypeScript's library (ECMAScript proposal "JSON.parse source text access").
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

/** For `JSON.parse`: an integer that a double would round comes back as a bigint. */
export function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
  const digits = context?.source;
  return digits !== undefined && /^-?\d+$/.test(digits) ? BigInt(digits) : value;
}

/** For `JSON.stringify`: a bigint is written as its digits. */
export function writeDigits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;
}
