import type { Report, ReportChart, ReportRange, ReportRow } from '../../store/reports/reports.ts';
import { fold } from '../../lib/text/fold.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import { countOf } from '../../lib/text/units.ts';
import { addressOf, destinationAddress, searchAddress } from '../addresses.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { badge, timeOf } from '../html/elements.ts';
import { fieldOf } from '../html/form.ts';
import { rangePicker } from '../html/range-picker.ts';
import { numberColumn, tableOf, type Column } from '../browser/shared/table.ts';
import type { Entered } from '../api/parameters.ts';
import type { ReportSchedule } from '../../reports/parse-schedules.ts';
import { readSchedules } from '../../store/reports/report-schedules.ts';
import type { Db } from '../../store/server/database.ts';

/** More rows than a person reads; the command prints all. */
export const MOST_ROWS = 1_000;

export interface ShownReport {
  readonly report: Report;
  readonly all: readonly Report[];
  readonly entered: Entered;
  readonly range: ReportRange;
  readonly rows: readonly ReportRow[];
  /** The same report of the period before; undefined if it has no figures to compare. */
  readonly before: ReportBefore | undefined;
  readonly statement: string;
  readonly mayExport: boolean;
  /** The one whose events the report is about; undefined: all that may be seen. */
  readonly source: string | undefined;
  readonly schedules: readonly DescribedSchedule[];
}

interface ReportBefore {
  readonly range: WholeRange;
  readonly rows: readonly ReportRow[];
}

/** The page of a report: which one and for when, its table, and the statement behind it. */
export function reportPage(shown: ShownReport): Page {
  const { report, all, entered, range, rows, before, statement, mayExport, source, schedules } = shown;
  const { written, problems } = entered;
  const { month: _month, ...given } = written;
  const hasRange = given['since'] !== undefined && !problems.has('since');
  const whole = {
    since: range.since.toISOString(),
    // A month that has not ended is chosen as one that goes on.
    ...(range.until <= new Date() && { until: range.until.toISOString() }),
  };
  const asked = hasRange ? given : { ...given, ...whole };
  const { since, until } = asked;
  const query = { since, until, tz: range.zone, user: range.user };
  return {
    title: report.title,
    content: html`
      <nav class="row" aria-label="Reports">
        ${all.map(
          ({ name, title }) => html`
            <a
              class="button quiet"
              href=${addressOf('/reports', { name, ...query })}
              aria-current=${name === report.name ? 'true' : undefined}
              >${title}</a
            >
          `,
        )}
      </nav>
      <form class="filters" action="/reports" aria-label="Report">
        <input type="hidden" name="name" value=${report.name} />
        ${rangePicker('/reports', { written: asked, problems })}
        ${report.isOfPerson && fieldOf(entered, 'user', 'Person', 'dina')}
        <button>Show</button>
        ${['month', 'tz'].map((name) => problems.has(name) && html`<p class="problem">${name} ${problems.get(name)}.</p>`)}
      </form>
      <p class="dim">
        ${report.answers} Times are in the time zone ${range.zone}.
        ${before && html` Before: ${timeOf(before.range.since)} to ${timeOf(before.range.until)}.`}
      </p>
      ${contentOf(shown)}
      ${
        mayExport &&
        rows.length > 0 &&
        html`<p>
          <a
            class="button quiet"
            href=${addressOf(`/api/v1/reports/${report.name}/csv`, { ...query, source })}
            download
            >CSV</a
          >
        </p>`
      }
      <details>
        <summary>The SQL behind it</summary>
        <p class="dim">
          Run it unchanged with <code>xiq-sink sql</code>, or print CSV with
          <code>xiq-sink report ${report.name} --csv</code>.
        </p>
        <pre>${statement}</pre>
      </details>
      <h2>Scheduled reports</h2>
      ${tableOf('Scheduled reports', SCHEDULE_COLUMNS, schedules, NO_SCHEDULES)}
    `,
  };
}

function contentOf({ report, range, rows, before }: ShownReport): Content {
  if (report.isOfPerson === true && range.user === undefined) {
    return html`<p>Enter a person's user name as spelled in the cloud.</p>`;
  }
  const { chart } = report;
  const lines = chart === undefined || before === undefined ? rows : withBefore(chart, rows, before.rows);
  if (lines.length === 0) return html`<p>No results in this range.</p>`;
  return html`
    ${tableOf(report.title, columnsOf(report, range, lines, before?.range), lines)}
    <p class="dim">
      ${countOf(rows.length, 'row')}${rows.length === MOST_ROWS && ': the others are in the CSV of the command'}.
    </p>
  `;
}

const BEFORE = 'Before';

/** The rows with their figures of the period before. Those that only that one has come last. */
function withBefore(
  { labels, value }: ReportChart,
  rows: readonly ReportRow[],
  before: readonly ReportRow[],
): readonly ReportRow[] {
  const keyOf = (row: ReportRow) => fold(labels.map((heading) => row[heading] ?? '').join('\n'));
  const figures = new Map(before.map((row) => [keyOf(row), row[value]]));
  const known = new Set(rows.map(keyOf));
  return [
    ...rows.map((row) => ({ ...row, [BEFORE]: figures.get(keyOf(row)) ?? '0' })),
    ...before
      .filter((row) => !known.has(keyOf(row)))
      .map((row) => ({
        ...Object.fromEntries(labels.map((heading) => [heading, row[heading] ?? null])),
        [value]: '0',
        [BEFORE]: row[value] ?? '0',
      })),
  ];
}

/** The figures of a row lead to its events. */
function columnsOf(
  { searchOf, chart }: Report,
  range: ReportRange,
  rows: readonly ReportRow[],
  before: WholeRange | undefined,
): readonly Column<ReportRow>[] {
  const plain = (heading: string): Column<ReportRow> => ({
    heading,
    kind: /^\d+$/.test(rows[0]?.[heading] ?? '')
      ? 'number'
      : /^(?:First|Last|Time|Day)$/.test(heading)
        ? 'nowrap'
        : undefined,
    cell: (row) => row[heading] ?? html`<span class="dim">–</span>`,
  });
  const figure = (heading: string, { since, until }: WholeRange) =>
    numberColumn(heading, (row: ReportRow) => {
      const [q, count = null] = [searchOf?.(row), row[heading]];
      if (q === undefined || count === '0') return count;
      const within = { since: since.toISOString(), until: until.toISOString() };
      return html`<a href=${searchAddress({ q, ...within })}>${count}</a>`;
    });
  return Object.keys(rows[0] ?? {})
    .filter((heading) => heading !== BEFORE)
    .flatMap((heading) =>
      heading === chart?.value
        ? [
            figure(heading, range),
            ...(before === undefined ? [] : [figure(BEFORE, before)]),
            { heading: '', kind: 'days' as const, cell: barsOf(chart, rows) },
          ]
        : [plain(heading)],
    );
}

/** A bar of the figure of a row, with a part of it in the colour of warnings, and a mark at the figure of the period before. */
function barsOf({ value, marked }: ReportChart, rows: readonly ReportRow[]) {
  const figureOf = (row: ReportRow, heading = '') => Number(row[heading] ?? 0);
  const longest = Math.max(1, ...rows.flatMap((row) => [figureOf(row, value), figureOf(row, BEFORE)]));
  return (row: ReportRow): Content => {
    const widthOf = (heading?: string) => (100 * figureOf(row, heading)) / longest;
    return html`
      <svg class="measure" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect width=${widthOf(value)} height="10" />
        <rect class="warn" width=${widthOf(marked)} height="10" />
        ${figureOf(row, BEFORE) > 0 && html`<path d=${`M${widthOf(BEFORE)} 0v10`} />`}
      </svg>
    `;
  };
}

const NO_SCHEDULES = 'None. Use the setting reports to send a report after each day, week or month.';

const SCHEDULE_COLUMNS: readonly Column<DescribedSchedule>[] = [
  { heading: 'Name', cell: ({ name }) => name },
  {
    heading: 'Report',
    cell: ({ report, every }) =>
      html`<a href=${addressOf('/reports', { name: report })}>${report}</a> every ${every}`,
  },
  { heading: 'Time zone', cell: ({ time_zone: zone }) => zone },
  {
    heading: 'Destination',
    cell: ({ destination }) => html`<a href=${destinationAddress(destination)}>${destination}</a>`,
  },
  {
    heading: { time: 'Last sent' },
    cell: ({ progress }) => (progress?.sentAt ? timeOf(progress.sentAt) : 'none'),
  },
  {
    heading: { time: 'Next period from' },
    cell: ({ progress }) => (progress === undefined ? 'waiting for serve' : timeOf(progress.nextSince)),
  },
  {
    heading: 'State',
    kind: 'wrap',
    cell: ({ progress }) =>
      progress?.lastError
        ? html`${badge('warn', 'retrying')} ${progress.lastError}`
        : badge('good', 'on schedule'),
  },
];

type DescribedSchedule = Awaited<ReturnType<typeof describeSchedules>>[number];

/** The schedules with their progress, which is undefined until a process that forwards has seen them. */
export async function describeSchedules(db: Db, schedules: readonly ReportSchedule[]) {
  if (schedules.length === 0) return [];
  const names = schedules.map(({ name }) => name);
  const known = await readSchedules(db, names);
  return schedules.map((one) => ({ ...one, progress: known.find(({ name }) => name === one.name) }));
}
