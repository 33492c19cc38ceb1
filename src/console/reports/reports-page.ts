import type { Report, ReportChart, ReportRange, ReportRow } from '../../store/reports/reports.ts';
import { countOf } from '../../lib/text/units.ts';
import { addressOf, destinationAddress, searchAddress } from '../addresses.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { badge, timeOf } from '../html/elements.ts';
import { fieldOf } from '../html/form.ts';
import { rangePicker } from '../html/range-picker.ts';
import { tableOf, type Column } from '../browser/shared/table.js';
import type { Entered } from '../api/parameters.ts';
import type { ReportSchedule } from '../../reports/parse-schedules.ts';
import { readSchedules } from '../../store/reports/report-schedules.ts';
import type { Db } from '../../store/server/database.ts';

export interface ShownReport {
  readonly report: Report;
  readonly all: readonly Report[];
  readonly entered: Entered;
  readonly range: ReportRange;
  readonly rows: readonly ReportRow[];
  readonly statement: string;
  readonly mostRows: number;
  readonly mayExport: boolean;
  readonly schedules: readonly DescribedSchedule[];
}

/** The page of a report: which one and for when, its table, and the statement behind it. */
export function reportPage(shown: ShownReport): Page {
  const { report, all, entered, range, rows, statement, mostRows, mayExport, schedules } = shown;
  const { written, problems } = entered;
  const { month: _month, ...given } = written;
  const hasRange = given['since'] !== undefined && !problems.has('since');
  const whole = { since: range.since.toISOString(), until: range.until.toISOString() };
  const asked = hasRange ? given : { ...given, ...whole };
  const { since, until } = asked;
  const query = { since, until, tz: range.zone, user: range.user };
  return {
    title: report.title,
    content: html`
      <nav aria-label="Reports">
        <ul class="ranges">
          ${all.map(
            ({ name, title }) => html`
              <li>
                <a
                  href=${addressOf('/reports', { name, ...query })}
                  aria-current=${name === report.name ? 'true' : undefined}
                  >${title}</a
                >
              </li>
            `,
          )}
        </ul>
      </nav>
      <form class="filters" action="/reports" aria-label="Report">
        <input type="hidden" name="name" value=${report.name} />
        ${rangePicker('/reports', { written: asked, problems })}
        ${report.isOfPerson && fieldOf(entered, 'user', 'Person', 'dina')}
        <button>Show</button>
        ${['month', 'tz'].map((name) => problems.has(name) && html`<p class="problem">${name} ${problems.get(name)}.</p>`)}
      </form>
      <p class="dim">${report.answers} Times are in the zone ${range.zone}.</p>
      ${rows.length > 0 && report.chart !== undefined && chartOf(report.title, report.chart, rows)}
      ${contentOf(report, range, rows, mostRows)}
      ${
        mayExport &&
        rows.length > 0 &&
        html`<p>
          <a class="button quiet" href=${addressOf(`/api/v1/reports/${report.name}/csv`, query)} download
            >CSV</a
          >
        </p>`
      }
      <details>
        <summary>The SQL behind it</summary>
        <p class="dim">
          <code>xiq-sink sql</code> runs it as it is, <code>xiq-sink report ${report.name} --csv</code> prints
          CSV.
        </p>
        <pre>${statement}</pre>
      </details>
      ${scheduledReports(schedules)}
    `,
  };
}

function contentOf(
  report: Report,
  range: ReportRange,
  rows: readonly ReportRow[],
  mostRows: number,
): Content {
  if (report.isOfPerson === true && range.user === undefined) {
    return html`<p>Name a person, as the cloud spells the user name.</p>`;
  }
  if (rows.length === 0) return html`<p>Nothing was found in this range.</p>`;
  return html`
    ${tableOf(report.title, columnsOf(report, range, rows), rows)}
    <p class="dim">
      ${countOf(rows.length, 'row')}${rows.length === mostRows && ': the others are in the CSV of the command'}.
    </p>
  `;
}

/** The first column leads to the events of a row. */
function columnsOf(
  { searchOf }: Report,
  { since, until }: ReportRange,
  [first = {}]: readonly ReportRow[],
): readonly Column<ReportRow>[] {
  const within = { since: since.toISOString(), until: until.toISOString() };
  return Object.keys(first).map((heading, index) => ({
    heading,
    cell: (row) => {
      const search = index === 0 ? searchOf?.(row) : undefined;
      const value = row[heading] ?? 'none';
      return search === undefined
        ? value
        : html`<a href=${searchAddress({ q: search, ...within })}>${value}</a>`;
    },
  }));
}

/** More bars are not read. */
const MOST_BARS = 20;

/** Units of the drawing, about pixels. */
const BAR = { height: 18, gap: 4, labels: 260, width: 900, figures: 120 } as const;

/** Bars of the first rows, in their order, with a part of each in the colour of warnings. */
function chartOf(title: string, { labels, value, marked }: ReportChart, rows: readonly ReportRow[]): Content {
  const figure = (row: ReportRow, heading: string) => Number(row[heading] ?? 0);
  const shown = rows.slice(0, MOST_BARS);
  const longest = Math.max(1, ...shown.map((row) => figure(row, value)));
  const length = (count: number) => (count / longest) * (BAR.width - BAR.labels - BAR.figures);
  const height = shown.length * (BAR.height + BAR.gap);
  const name = `${title}: ${value.toLowerCase()}`;
  return html`
    <figure class="report-chart">
      <svg viewBox=${`0 0 ${BAR.width} ${height}`} role="img" aria-label=${name}>
        ${shown.map((row, index) => {
          const y = index * (BAR.height + BAR.gap);
          const [all, part] = [figure(row, value), marked === undefined ? 0 : figure(row, marked)];
          const label = labels.map((heading) => row[heading] ?? 'none').join(', ');
          const baseline = y + BAR.height - 5;
          return html`
            <text x=${BAR.labels - 8} y=${baseline} text-anchor="end"
              >${shortened(label)}<title>${label}</title></text
            >
            <rect class="bar" x=${BAR.labels} y=${y} width=${length(all)} height=${BAR.height} rx="2" />
            ${part > 0 && html`<rect class="marked" x=${BAR.labels} y=${y} width=${length(part)} height=${BAR.height} rx="2" />`}
            <text x=${BAR.labels + length(all) + 6} y=${baseline}
              >${part > 0 ? `${all} (${part} ${marked?.toLowerCase()})` : all}</text
            >
          `;
        })}
      </svg>
      ${rows.length > MOST_BARS && html`<figcaption class="dim">The first ${MOST_BARS} rows.</figcaption>`}
    </figure>
  `;
}

const LABEL_CHARACTERS = 36;

const shortened = (label: string) =>
  label.length > LABEL_CHARACTERS ? `${label.slice(0, LABEL_CHARACTERS - 1)}…` : label;

function scheduledReports(schedules: readonly DescribedSchedule[]): Content {
  return html`
    <h2>Scheduled reports</h2>
    ${
      schedules.length === 0
        ? html`<p class="dim">
            None. The settings (<code>reports</code>) send a report after each day, week or month.
          </p>`
        : tableOf('Scheduled reports', SCHEDULE_COLUMNS, schedules)
    }
  `;
}

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
    cell: ({ progress }) => (progress === undefined ? 'waits for serve' : timeOf(progress.nextSince)),
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
