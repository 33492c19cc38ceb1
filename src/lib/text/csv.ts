import { revealHidden } from './hidden-characters.ts';

/** Begins a file of CSV for spreadsheets, which read UTF-8 by it. */
export const BOM = '\uFEFF';

/**
 * One row of CSV (RFC 4180), with the end of its line. Null is an empty cell, an empty text is `""`, so that both can
 * be distinguished. Hidden characters are shown as `\u202e`: a spreadsheet would hide them, too.
 */
export function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map((cell) => (cell === null ? '' : quoteIfNeeded(revealHidden(cell)))).join(',')}\r\n`;
}

const quoteIfNeeded = (text: string) => (/[",\r\n]|^$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A sign, also a full-width one, with or without blanks before it, or a control character that spreadsheets skip. */
const FORMULA = /^(?:\s*[=+\-@＝＋－＠]|[\t\r\n])/;

/**
 * A text cell that no spreadsheet runs as a formula: an apostrophe goes before `=`, `+`, `-` and `@`, before blanks that
 * precede them, and before a leading tab or line break. For columns of text only: a sign before a number, a time or an
 * address is no formula.
 */
export const guardFormula = (text: string): string => (FORMULA.test(text) ? `'${text}` : text);
