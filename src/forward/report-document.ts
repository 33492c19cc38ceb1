import { revealOnLine } from '../lib/text/hidden-characters.ts';
import type { ReportRow } from '../store/reports/reports.ts';
import { countOf } from '../lib/text/units.ts';

export interface ReportDocument {
  /** The name of the schedule and the period: the same whenever the report is sent. */
  readonly id: string;
  readonly schedule: string;
  readonly report: string;
  readonly title: string;
  readonly answers: string;
  /** A month, or the first day of a week or of a day. */
  readonly period: string;
  readonly since: Date;
  /** Exclusive. */
  readonly until: Date;
  readonly zone: string;
  readonly rows: readonly ReportRow[];
  readonly isCut: boolean;
}

const headingsOf = ([first = {}]: readonly ReportRow[]) => Object.keys(first);

export const jsonOf = ({ rows, since, until, zone, isCut, answers: _answers, ...names }: ReportDocument) => ({
  type: 'xiq-sink.report',
  ...names,
  since: since.toISOString(),
  until: until.toISOString(),
  time_zone: zone,
  is_cut: isCut,
  rows,
});

/** Rows that the text of a mail has; the attachment has all. */
const MOST_LINES = 50;

/** The report as plain text, with its first rows. */
export function textOf({ title, answers, since, until, zone, rows, isCut }: ReportDocument): string {
  const headings = headingsOf(rows);
  const cells = [
    headings,
    ...rows.slice(0, MOST_LINES).map((row) => headings.map((name) => row[name] ?? '')),
  ];
  const shown = cells.map((line) => line.map(revealOnLine));
  const widths = headings.map((_, index) => Math.max(...shown.map((line) => line[index]?.length ?? 0)));
  const table = shown.map((line) =>
    line
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const counted =
    rows.length === 0 ? 'Nothing was found.' : `${countOf(rows.length, 'row')}${isCut ? ', and more' : ''}.`;
  return [
    `${title}: ${answers}`,
    `From ${since.toISOString()} to ${until.toISOString()}. Times are in the time zone ${zone}. ${counted}`,
    '',
    ...(rows.length === 0 ? [] : table),
  ].join('\n');
}
