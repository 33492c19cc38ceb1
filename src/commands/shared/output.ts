import { styleText } from 'node:util';
import { Help } from 'commander';
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
export async function printTable(columns: readonly string[], rows: readonly (readonly (string | null)[])[]) {
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

/** A column of prose, such as a reason or a list of names, stays as wide as this on a narrow terminal. */
const MIN_PROSE_WIDTH = 20;

/** Words, which can be cut; a time has a space, too. */
const isWords = (text: string) => text.includes(' ') && /\p{L}/u.test(text);

/** Breaks prose into lines that fit into the terminal beside an indentation. A pipe gets it whole. */
export function wrapBeside(indent: string, text: string): string {
  const { isTTY, columns } = process.stdout;
  if (!isTTY) return text;
  const helper = Object.assign(new Help(), { minWidthToWrap: MIN_PROSE_WIDTH });
  return helper.boxWrap(text, columns - indent.length).replaceAll('\n', `\n${indent}`);
}

type WidthOf = (text: string) => number;

/**
 * Formats rows as aligned columns. On a terminal headings are bold, long cells are cut, and prose is cut further until the
 * table fits; where it can't, each row is a block with a line for each cell. A pipe gets plain text, whole. `widthOf` measures a text in columns of a terminal.
 */
export function formatTable(
  columns: readonly string[],
  rows: readonly (readonly (string | null)[])[],
  widthOf: WidthOf = (text) => text.length,
): string {
  const { isTTY, columns: terminalWidth } = process.stdout;
  const headings = columns.map(revealOnLine);
  const cells = rows.map((row) => row.map((value) => revealOnLine(value ?? '')));
  const widths = headings.map((name, at) =>
    cells.reduce((width, row) => Math.max(width, widthOf(row[at] ?? '')), widthOf(name)),
  );
  if (!isTTY) return align([headings, ...cells], widths, widthOf).join('\n');
  const limits = widths.map((width) => Math.min(width, MAX_CELL_WIDTH));
  const isProse = headings.map((_name, at) =>
    cells.some((row) => widthOf(row[at] ?? '') > MIN_PROSE_WIDTH && isWords(row[at] ?? '')),
  );
  const room = terminalWidth ? terminalWidth - 2 * (columns.length - 1) : Infinity;
  for (let excess = sum(limits) - room; excess > 0; excess -= 1) {
    const prose = limits.map((limit, at) => (isProse[at] === true ? limit : 0));
    const widest = prose.indexOf(Math.max(...prose));
    if ((prose[widest] ?? 0) <= MIN_PROSE_WIDTH) return formatBlocks(headings, cells, widthOf);
    limits[widest] = (limits[widest] ?? 0) - 1;
  }
  const shown = cells.map((row) => row.map((cell, at) => cut(cell, limits[at] ?? Infinity, widthOf)));
  const [heading = '', ...lines] = align([headings, ...shown], limits, widthOf);
  return [styleText('bold', heading), ...lines].join('\n');
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const align = (rows: readonly (readonly string[])[], widths: readonly number[], widthOf: WidthOf): string[] =>
  rows.map((row) =>
    row
      .map((cell, at) => cell + ' '.repeat(Math.max(0, (widths[at] ?? 0) - widthOf(cell))))
      .join('  ')
      .trimEnd(),
  );

/** Each block ends with an empty line, which also keeps a remark apart that follows. */
function formatBlocks(headings: readonly string[], rows: readonly (readonly string[])[], widthOf: WidthOf) {
  const width = Math.max(...headings.map(widthOf));
  return rows
    .map((row) => {
      const lines = row.map((cell, at) => [headings[at] ?? '', cell]);
      const toLine = (line: string) => `${styleText('bold', line.slice(0, width))}${line.slice(width)}\n`;
      return align(lines, [width], widthOf).map(toLine).join('');
    })
    .join('\n');
}

function cut(text: string, limit: number, widthOf: WidthOf): string {
  if (widthOf(text) <= limit) return text;
  let shown = '';
  let width = 1;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width += widthOf(segment);
    if (width > limit) break;
    shown += segment;
  }
  return `${shown}…`;
}
