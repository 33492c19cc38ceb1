import { styleText } from 'node:util';
import { escapeHiddenInJson, revealHidden, revealOnLine } from '../../lib/text/hidden-characters.ts';

/** A cell wider than this is cut with an ellipsis on a terminal; a pipe gets it whole. */
const MAX_CELL_WIDTH = 80;

/** Prints a line of a command's result on standard output. Text from outside must have passed `revealOnLine`. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a remark for a person on standard error, dimmed: no part of the result. */
export function note(text: string): void {
  process.stderr.write(`${styleText('dim', revealHidden(text), { stream: process.stderr })}\n`);
}

export function printJson(value: unknown): void {
  print(escapeHiddenInJson(JSON.stringify(value, null, 2)));
}

export function printJsonLine(value: unknown): void {
  print(escapeHiddenInJson(JSON.stringify(value)));
}

/** Prints rows as a table, aligned also where text has wide characters or emoji. */
export async function printTable(
  columns: readonly string[],
  rows: readonly (readonly (string | null)[])[],
): Promise<void> {
  const isPlain = rows.every((row) => row.every((cell) => cell === null || !SPECIAL_WIDTH.test(cell)));
  // The library takes 0.1 s to load, a sixth of what a small command takes, and few tables need it.
  const widthOf = isPlain ? undefined : (await import('string-width')).default;
  print(formatTable(columns, rows, widthOf));
}

/** The columns of a table of rows: headings, and how to read their cells. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string | null>>;

/** Prints rows as JSON lines, or else as a table, if there are any. */
export async function printRows<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  asJson = false,
): Promise<void> {
  if (asJson) return rows.forEach(printJsonLine);
  const cells = rows.map((row) => Object.values(columns).map((cellOf) => cellOf(row)));
  if (rows.length > 0) await printTable(Object.keys(columns), cells);
}

/** Characters that may take no column of a terminal, or two: combining marks and all scripts after them. */
const SPECIAL_WIDTH = /[^\0-\u02FF]/;

/**
 * Formats rows as aligned columns. On a terminal headings are bold and long cells are cut; a pipe gets plain text.
 * `widthOf` measures a text in columns of a terminal.
 */
export function formatTable(
  columns: readonly string[],
  rows: readonly (readonly (string | null)[])[],
  widthOf: (text: string) => number = (text) => text.length,
): string {
  const limit = process.stdout.isTTY ? MAX_CELL_WIDTH : Number.POSITIVE_INFINITY;
  const cut = (text: string) => (widthOf(text) > limit ? cutTo(text, limit, widthOf) : text);
  const headings = columns.map(revealOnLine);
  const cells = rows.map((row) => row.map((value) => cut(revealOnLine(value ?? ''))));
  const widths = headings.map((name, index) =>
    cells.reduce((width, row) => Math.max(width, widthOf(row[index] ?? '')), widthOf(name)),
  );
  const pad = (cell: string, width = 0) => cell + ' '.repeat(Math.max(0, width - widthOf(cell)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) => pad(cell, widths[index]))
      .join('  ')
      .trimEnd();
  return [styleText('bold', line(headings)), ...cells.map(line)].join('\n');
}

function cutTo(text: string, limit: number, widthOf: (text: string) => number): string {
  let shown = '';
  let width = 1;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width += widthOf(segment);
    if (width > limit) break;
    shown += segment;
  }
  return `${shown}…`;
}
