import type { Report, ReportRange, ReportRow } from '../../store/reports.ts';
import { countOf } from '../../units.ts';
import { addressOf, searchAddress } from '../addresses.ts';
import { html, type Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { tableOf, type Column } from '../browser/table.js';

/** A report as it is shown. */
export interface ShownReport {
  readonly report: Report;
  /** The reports that the visitor may see. */
  readonly all: readonly Report[];
  readonly month: string;
  readonly range: ReportRange;
  readonly rows: readonly ReportRow[];
  readonly statement: string;
  /** More rows than this are not shown. */
  readonly mostRows: number;
}

/** The page of a report: which one and for when, its table, and the statement behind it. */
export function reportPage({ report, all, month, range, rows, statement, mostRows }: ShownReport): Page {
  const query = { month, tz: range.zone, user: range.user };
  return {
    title: `${report.title}, ${month}`,
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
      <form class="row" action="/reports" aria-label="Report">
        <input type="hidden" name="name" value=${report.name} />
        <label>Month <input type="month" name="month" value=${month} required /></label>
        <label>Time zone <input name="tz" value=${range.zone} /></label>
        ${report.isOfPerson && html`<label>Person <input name="user" value=${range.user} required /></label>`}
        <button>Show</button>
      </form>
      <p class="dim">${report.answers} Times are in the zone ${range.zone}.</p>
      ${contentOf(report, range, rows, mostRows)}
      <details>
        <summary>The SQL behind it</summary>
        <p class="dim">
          <code>xiq-sink sql</code> runs it as it is, <code>xiq-sink report ${report.name} --csv</code> prints
          CSV.
        </p>
        <pre>${statement}</pre>
      </details>
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
  if (rows.length === 0) return html`<p>Nothing was found in this month.</p>`;
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
