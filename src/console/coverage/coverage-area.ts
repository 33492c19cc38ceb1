import { z } from 'zod';
import {
  readCoverageByDay,
  readQuarters,
  type DayCoverage,
  type QuarterCoverage,
} from '../../store/reconcile/coverage.ts';
import type { Db } from '../../store/server/database.ts';
import { listGaps, type MissingPeriod } from '../../store/reconcile/gaps.ts';
import { VIEW } from '../access/access.ts';
import { isoTime, moment, text } from '../api/parameters.ts';
import { jsonRoute, parseInput } from '../api/route.ts';
import type { Area } from '../area.ts';
import { typeShape } from '../events/conditions.ts';
import { COVERAGE_STATES, GAP_REASONS, type CoverageState } from '../../store/server/schema/cloud-tables.ts';
import type { Scope } from '../../store/server/scope.ts';
import { countOf } from '../../lib/text/units.ts';
import { addressOf, type Query } from '../addresses.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { timeOf } from '../html/elements.ts';
import { tableOf, type Column } from '../browser/shared/table.js';
import { DAY_MS } from '../../lib/clock.ts';

const range = (mostDays: number) =>
  z
    .object({
      since: moment,
      until: moment.default(() => new Date()),
      source: text.optional().describe('source (exact match)'),
      ...typeShape,
    })
    .refine(({ since, until }) => since < until && until.getTime() - since.getTime() <= mostDays * DAY_MS, {
      path: ['until'],
      error: `must be later than since, by at most ${mostDays} days`,
    });

const count = z.number().int();

const quarterCounts = z.object({
  whole: count,
  healed: count,
  push_only: count,
  not_comparable: count,
  unrecoverable: count,
  pending: count,
  healed_events: count.describe('events that were missing and were fetched'),
  reasons: z.array(z.string()).describe('why quarters are not comparable'),
});

const gapSchema = z
  .object({
    source: z.string().nullable().describe('null: all sources'),
    message_type: z.string().nullable().describe('null: all message types'),
    reason: z.enum(GAP_REASONS),
    began_at: isoTime,
    ended_at: isoTime.nullable().describe('null: the reason persists'),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Gap' });

/** For which times the events are proven to be complete, and when events may have been missed. */
export function coverageArea({ db }: { readonly db: Db }): Area {
  return {
    tag: 'coverage',
    routes: [
      jsonRoute({
        route: 'GET /coverage',
        summary: 'count the quarters of an hour by day and state, and list times with possible gaps',
        ...VIEW,
        input: { query: range(400) },
        answer: z.object({
          items: z.array(
            quarterCounts.extend({ day: z.iso.date(), source: z.string(), message_type: z.string() }),
          ),
          gaps: z.array(gapSchema).describe('newest first, at most 500'),
        }),
        async work({ query: { type: messageTypes, ...query } }, { scope }) {
          const filter = { ...query, messageTypes };
          const [items, gaps] = await Promise.all([
            readCoverageByDay(db, scope, filter),
            listGaps(db, scope, filter),
          ]);
          return { items, gaps };
        },
      }),
      jsonRoute({
        route: 'GET /coverage/quarters',
        summary: 'list the state of each quarter of an hour',
        ...VIEW,
        input: { query: range(7) },
        answer: z.object({
          items: z.array(
            z.object({
              quarter: isoTime,
              source: z.string(),
              message_type: z.string(),
              state: z.enum(COVERAGE_STATES),
              reason: z.string().nullable().describe('why it is not comparable'),
              healed: count.describe('events that were missing and were fetched'),
            }),
          ),
        }),
        work: async ({ query: { type: messageTypes, ...query } }, { scope }) => ({
          items: await readQuarters(db, scope, { ...query, messageTypes }),
        }),
      }),
    ],
    pages: [
      {
        path: '/coverage',
        entry: { label: 'Coverage', group: 'Delivery', icon: 'coverage' },
        ...VIEW,
        render: (request, { scope }) =>
          renderCoverage(db, scope, parseInput({ query: shownSchema }, request).query),
      },
    ],
  };
}

/** The query of the page: a day, a month, or neither for this month; of one source, or of all. */
const shownSchema = z.object({
  day: z.iso.date('must be a day such as 2026-01-31').optional(),
  month: z
    .string()
    .regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, 'must be a month such as 2026-01')
    .optional(),
  source: text.optional(),
});

type Shown = z.output<typeof shownSchema>;

/** The page of a month, with a mark for each day, or of a day, with one for each quarter of an hour. */
async function renderCoverage(db: Db, scope: Scope, shown: Shown): Promise<Page> {
  const { day, month = new Date().toISOString().slice(0, 7), source } = shown;
  const since = new Date(day ?? `${month}-01`);
  const until = new Date(since);
  if (day === undefined) until.setUTCMonth(since.getUTCMonth() + 1);
  else until.setUTCDate(since.getUTCDate() + 1);
  const filter = { since, until, source };
  const gaps = await listGaps(db, scope, filter);
  const cells =
    day === undefined
      ? (await readCoverageByDay(db, scope, filter)).map((one) => cellOfDay(one, source))
      : (await readQuarters(db, scope, filter)).map(cellOfQuarter);
  return {
    title: 'Coverage',
    content: html`
      <p>
        Each quarter of an hour is compared with the history of the cloud. Events that were missed are
        fetched. Days and quarters of an hour are in UTC.
      </p>
      ${legend} ${stepsOf(since, until, shown)}
      <h2>${day ?? month}</h2>
      ${
        cells.length === 0
          ? html`<p class="empty">No source was known at that time.</p>`
          : tablesOf(cells, shown)
      }
      <h2>Times in which events may have been missed</h2>
      ${gaps.length === 0 ? html`<p class="empty">None.</p>` : tableOf('Gaps, newest first', GAPS, gaps)}
    `,
  };
}

const MARKS: Readonly<Record<CoverageState, readonly [kind: string, sign: string, meaning: string]>> = {
  whole: ['good', '✓', 'the logs of the cloud have no event that is missing here'],
  healed: ['good', '+', 'missing events were fetched from the logs of the cloud'],
  'push only': ['plain', '·', 'the cloud has no log of this type'],
  'not comparable': ['bad', '?', 'the logs of the cloud prove nothing'],
  unrecoverable: ['bad', '×', 'not proven, and the logs of the cloud no longer reach back'],
  pending: ['warn', '…', 'not proven yet'],
};

const legend = html`
  <ul class="row plain">
    ${COVERAGE_STATES.map((state) => html`<li>${markOf(state, state)} ${state}: ${MARKS[state][2]}</li>`)}
  </ul>
`;

/** A state as a sign, with the words for screen readers and on hovering. */
function markOf(state: CoverageState, words: string): Content {
  const [kind, sign] = MARKS[state];
  return html`
    <span class=${`badge ${kind}`} title=${words}>
      <span aria-hidden="true">${sign}</span><span class="visually-hidden">${words}</span>
    </span>
  `;
}

/** Links to the time before and after, from a day to its month, and to all sources. */
function stepsOf(since: Date, until: Date, { day, month, source }: Shown): Content {
  const at = (time: number) => new Date(time).toISOString().slice(0, day === undefined ? 7 : 10);
  const name = day === undefined ? 'month' : 'day';
  const link = (label: string, query: Query) =>
    html`<a class="button quiet" href=${addressOf('/coverage', query)}>${label}</a>`;
  return html`
    <nav class="row" aria-label="Time">
      ${link(`Earlier ${name}`, { [name]: at(since.getTime() - DAY_MS), source })}
      ${link(`Later ${name}`, { [name]: at(until.getTime()), source })}
      ${day !== undefined && link('Month', { month: day.slice(0, 7), source })}
      ${source !== undefined && link('All sources', { day, month })}
    </nav>
  `;
}

/** A mark in the table of a source, on the line of a message type. */
interface Cell {
  readonly source: string;
  readonly message_type: string;
  readonly column: string;
  readonly mark: Content;
}

/** A day gets the mark of the first of these states that it has. */
const WORST_FIRST = ['unrecoverable', 'not comparable', 'pending', 'healed', 'whole', 'push only'] as const;

function cellOfDay(line: DayCoverage, source: string | undefined): Cell {
  const { day, healed_events: fetched } = line;
  const counted = { ...line, 'push only': line.push_only, 'not comparable': line.not_comparable };
  const countIn = (state: CoverageState) => counted[state];
  const states = WORST_FIRST.filter((state) => countIn(state) > 0);
  const counts = states.map((state) => `${countIn(state)} ${state}`).join(', ');
  const why = line.reasons.length === 0 ? '' : ` (${line.reasons.join(', ')})`;
  const words = `${day}: ${counts}${why}${fetched === 0 ? '' : `; ${countOf(fetched, 'event')} fetched`}`;
  const mark = html`<a href=${addressOf('/coverage', { day, source })}
    >${markOf(states[0] ?? 'pending', words)}</a
  >`;
  return { ...line, column: day.slice(8), mark };
}

function cellOfQuarter(line: QuarterCoverage): Cell {
  const time = line.quarter.toISOString().slice(11, 16);
  const fetched = line.healed === 0 ? '' : `, ${countOf(line.healed, 'event')} fetched`;
  const why = line.state === 'not comparable' ? ` (${line.reason})` : '';
  const words = `${time}: ${line.state}${why}${fetched}`;
  return { ...line, column: time.slice(0, 2), mark: markOf(line.state, words) };
}

/** A table for each source, with a line for each of its message types. */
function tablesOf(cells: readonly Cell[], shown: Shown): Content[] {
  const headings = [...new Set(cells.map(({ column }) => column))].sort();
  const columns: readonly Column<readonly Cell[]>[] = [
    { heading: 'Type', cell: ([first]) => first?.message_type },
    ...headings.map((heading): Column<readonly Cell[]> => ({
      heading,
      kind: 'mark',
      cell: (line) => line.filter(({ column }) => column === heading).map(({ mark }) => mark),
    })),
  ];
  return [...Map.groupBy(cells, ({ source }) => source)].map(([source, ofSource]) => {
    const lines = [...Map.groupBy(ofSource, ({ message_type: type }) => type).values()];
    return html`
      <h3><a href=${addressOf('/coverage', { ...shown, source })}>${source}</a></h3>
      ${tableOf(`Coverage of ${source}`, columns, lines)}
    `;
  });
}

const GAPS: readonly Column<MissingPeriod>[] = [
  { heading: { time: 'From' }, cell: ({ began_at: began }) => timeOf(began) },
  {
    heading: { time: 'To' },
    cell: ({ ended_at: ended }) => (ended === null ? 'persists' : timeOf(ended)),
  },
  { heading: 'Source', cell: ({ source }) => source ?? 'all' },
  { heading: 'Type', cell: ({ message_type: type }) => type ?? 'all' },
  { heading: 'Reason', kind: 'nowrap', cell: ({ reason }) => reason },
  {
    heading: 'Details',
    kind: 'wrap',
    cell: ({ detail }) =>
      Object.entries(detail)
        .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${String(value)}`)
        .join(', '),
  },
];
