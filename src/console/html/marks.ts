import { tableOf, type Column } from '../browser/shared/table.ts';
import { html, type Content } from './html.ts';

/** How a state looks: a colour, a sign beside it, and what it means. */
export type Look = readonly [kind: 'good' | 'warn' | 'bad' | 'plain' | 'open', sign: string, meaning: string];

/** A mark in a line and a column of a table. */
export interface Mark {
  readonly line: string;
  readonly column: string;
  readonly content: Content;
}

interface MarksTable {
  /** Of the lines. */
  readonly heading: string;
  /** The cell of a line's name, if it is more than that. */
  readonly cell?: (line: string) => Content;
  readonly further?: readonly Column<string>[];
}

/** The marks of days or hours, a line for each name. */
export function marksTable(
  caption: string,
  marks: readonly Mark[],
  { heading, cell = (name) => name, further = [] }: MarksTable,
): Content {
  const placeOf = (line: string, column: string) => `${column} ${line}`;
  const byPlace = Map.groupBy(marks, ({ line, column }) => placeOf(line, column));
  const headings = [...new Set(marks.map(({ column }) => column))].toSorted();
  const columns: readonly Column<string>[] = [
    { heading, isPlain: true, cell },
    ...headings.map((column): Column<string> => ({
      heading: headingOf(column, headings),
      kind: 'mark',
      isPlain: true,
      cell: (name) => byPlace.get(placeOf(name, column))?.map(({ content }) => content),
    })),
    ...further,
  ];
  return tableOf(caption, columns, [...new Set(marks.map(({ line }) => line))], undefined, 'marks');
}

/** Of an hour, or of a day. In a range of two months, the first one and the first of the second name the month. */
const headingOf = (column: string, [first = '', ...others]: readonly string[]) =>
  column.length > 2 &&
  first.slice(0, 7) !== others.at(-1)?.slice(0, 7) &&
  (column === first || column.endsWith('-01'))
    ? new Date(column).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
    : column.slice(-2);

/** A state as a sign, with the words for screen readers and on hovering; with an address, it leads there. */
export function markOf([kind, sign]: Look, words: string, href?: string, size = ''): Content {
  const content = html`<span aria-hidden="true">${sign}</span><span class="visually-hidden">${words}</span>`;
  const look = { class: `cell badge ${kind} ${size}`, title: words };
  return href === undefined
    ? html`<span ...${look}>${content}</span>`
    : html`<a ...${look} href=${href}>${content}</a>`;
}

export const legendOf = (looks: Readonly<Record<string, Look>>): Content => html`
  <ul class="row plain legend">
    ${Object.entries(looks).map(([state, look]) => html`<li title=${look[2]}>${markOf(look, state)} ${state}</li>`)}
  </ul>
`;
