import { styleText } from 'node:util';

/** A cell wider than this is cut with an ellipsis on a terminal; a pipe gets it whole. */
const MAX_CELL_WIDTH = 80;

/** Rows as aligned text columns: bold headings and cut cells on a terminal, everything plain in a pipe. */
export function formatTable(
  columns: readonly string[],
  rows: readonly (readonly (string | null)[])[],
): string {
  const limit = process.stdout.isTTY ? MAX_CELL_WIDTH : Number.POSITIVE_INFINITY;
  const cells = rows.map((row) => row.map((value) => cut(oneLine(value ?? ''), limit)));
  const widths = columns.map((name, index) =>
    cells.reduce((width, row) => Math.max(width, row[index]?.length ?? 0), name.length),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  return [styleText('bold', line(columns)), ...cells.map(line)].join('\n');
}

/** Rows as CSV (RFC 4180) with a heading. */
export function formatCsv(columns: readonly string[], rows: readonly (readonly (string | null)[])[]): string {
  const quote = (value: string | null) =>
    /[",\r\n]/.test(value ?? '') ? `"${value?.replaceAll('"', '""')}"` : (value ?? '');
  return [columns, ...rows].map((row) => row.map(quote).join(',')).join('\r\n');
}

/** Text without line breaks and control characters: what a stranger sent must not steer the reader's terminal. */
export const oneLine = (text: string) =>
  text.replaceAll(/\s*[\r\n]+\s*/g, ' ').replaceAll(/\p{Cc}/gu, '\uFFFD');

const cut = (text: string, limit: number) => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);
