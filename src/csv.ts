/**
 * One row of CSV (RFC 4180), with the end of its line. Null is an empty cell, an empty text is `""`, so that both can
 * be told apart.
 */
export function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map((cell) => (cell === null ? '' : quoteIfNeeded(cell))).join(',')}\r\n`;
}

const quoteIfNeeded = (text: string) => (/[",\r\n]|^$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/**
 * A text cell that no spreadsheet runs as a formula: an apostrophe goes before `=`, `+`, `-`, `@`, tab and carriage
 * return. For columns of text only: a sign before a number, a time or an address is no formula.
 */
export function guardFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
