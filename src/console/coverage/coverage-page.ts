import { z } from 'zod';
import { CLOUD_TYPES } from '../../events/domain.ts';
import { titleOfType } from '../../events/event-words.ts';
import { DAY_MS, MINUTE_MS } from '../../lib/clock.ts';
import { countOf } from '../../lib/text/units.ts';
import {
  listSourcesAfter,
  readCoverageByDay,
  readQuarters,
  type DayCoverage,
  type QuarterCoverage,
} from '../../store/reconcile/coverage.ts';
import { listGaps, type MissingPeriod } from '../../store/reconcile/gaps.ts';
import type { Db } from '../../store/server/database.ts';
import { COVERAGE_STATES, type CoverageState } from '../../store/server/schema/cloud-tables.ts';
import type { Scope } from '../../store/server/scope.ts';
import { addressOf, type Query } from '../addresses.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import { pageOf } from '../api/paging.ts';
import { text } from '../api/parameters.ts';
import { numberColumn, tableOf, type Column } from '../browser/shared/table.ts';
import { pagerOf, timeOf } from '../html/elements.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { legendOf, markOf, marksTable, type Look, type Mark } from '../html/marks.ts';
import { COVERAGE_WORDS } from './coverage-words.ts';

/** The query of the page: a day, a month, or neither for the last 30 days; of one source, or of all. */
export const shownSchema = z.object({
  day: z.iso.date('must be a day such as 2026-01-31').optional(),
  month: z
    .string()
    .regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, 'must be a month such as 2026-01')
    .optional(),
  source: text.optional(),
  cursor: text.optional().describe('the last source of the previous page'),
});

type Shown = z.output<typeof shownSchema>;

const USUAL_DAYS = 30;

/** Counting the quarters of 100 sources with five types takes 6 to 8 s on two busy cores. */
const SOURCES_PER_PAGE = 25;

/**
 * The page of a month, with a mark for each day: of all sources a line each, of one source a line for each message type.
 * That of a day has a mark for each quarter of an hour.
 */
export async function renderCoverage(db: Db, scope: Scope, shown: Shown): Promise<Page> {
  const { day, month, source, cursor = '' } = shown;
  const range = rangeOf(shown);
  const found = await listSourcesAfter(db, scope, cursor, SOURCES_PER_PAGE + 1);
  const { items: names, next_cursor: next } = pageOf(found, SOURCES_PER_PAGE, (name) => name);
  const within = source === undefined ? names : scope;
  const [gaps, marks] = await Promise.all([
    listGaps(db, scope, range),
    day === undefined
      ? readCoverageByDay(db, within, range).then((days) =>
          days.length === 0 ? undefined : daysOf(days, shown, range),
        )
      : readQuarters(db, within, range).then((all) => (all.length === 0 ? undefined : hoursOf(all, shown))),
  ]);
  const title = [source, day ?? month ?? `Last ${USUAL_DAYS} days`].filter(Boolean).join(', ');
  return {
    title: 'Coverage',
    content: html`
      <p>
        Each quarter of an hour is compared with the cloud's logs, and missing events are fetched. Days and
        hours are in UTC.
      </p>
      <div class="row apart">
        <h2>${title}</h2>
        ${stepsOf(range.since, range.until, shown)}
      </div>
      ${marks ?? html`<p class="empty">No source was known at that time.</p>`}
      ${source === undefined && pagerOf('/coverage', shown, next, ['First sources', 'Next sources'])}
      ${legendOf(Object.fromEntries(COVERAGE_STATES.map((state) => [COVERAGE_WORDS[state], LOOKS[state]])))}
      <h2>Periods in which events may have been missed</h2>
      ${tableOf('Gaps, newest first', GAPS, together(gaps), 'None.')}
    `,
  };
}

function rangeOf({ day, month }: Shown) {
  const today = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS);
  const written = day ?? (month === undefined ? undefined : `${month}-01`);
  const since = new Date(written ?? today.getTime() - (USUAL_DAYS - 1) * DAY_MS);
  const until = new Date(written === undefined ? today : since);
  if (month !== undefined && day === undefined) until.setUTCMonth(until.getUTCMonth() + 1);
  else until.setUTCDate(until.getUTCDate() + 1);
  return { since, until };
}

const LOOKS: Readonly<Record<CoverageState, Look>> = {
  whole: ['good', '', "the cloud's logs contain no event that is missing here"],
  healed: ['good', '+', "missing events were fetched from the cloud's logs"],
  'push only': ['plain', '·', 'the cloud has no log of this type'],
  'not comparable': ['warn', '?', "the cloud's logs prove nothing"],
  unrecoverable: ['bad', '×', "not proven, and the cloud's logs no longer reach that far"],
  pending: ['open', '…', 'not proven yet'],
};

/** Links to the time before and after, and from a day to its month. */
function stepsOf(since: Date, until: Date, { day, month }: Shown): Content {
  const at = (time: number) => new Date(time).toISOString().slice(0, day === undefined ? 7 : 10);
  const name = day === undefined ? 'month' : 'day';
  const link = (label: string, query: Query) =>
    html`<a class="button quiet" href=${addressOf('/coverage', query)}>${label}</a>`;
  return html`
    <nav class="row" aria-label="Time">
      ${link(`Earlier ${name}`, { [name]: at(since.getTime() - DAY_MS) })}
      ${until.getTime() < Date.now() && link(`Later ${name}`, { [name]: at(until.getTime()) })}
      ${day !== undefined && link('Month', { month: day.slice(0, 7) })}
      ${(month ?? day) !== undefined && link(`Last ${USUAL_DAYS} days`, {})}
    </nav>
  `;
}

/** Several states are shown by the first of these. */
const WORST_FIRST = ['unrecoverable', 'not comparable', 'pending', 'healed', 'whole', 'push only'] as const;

const countsOf = (line: DayCoverage): Readonly<Record<CoverageState, number>> => ({
  ...line,
  'push only': line.push_only,
  'not comparable': line.not_comparable,
});

const sumOf = (lines: readonly DayCoverage[], state: CoverageState) =>
  lines.reduce((sum, line) => sum + countsOf(line)[state], 0);

/** The days of each source; or, of one source, those of each message type. */
function daysOf(lines: readonly DayCoverage[], shown: Shown, { since, until }: WholeRange): Content {
  const { source } = shown;
  const lineOf = (line: DayCoverage) => (source === undefined ? line.source : titleOfType(line.message_type));
  const marks = [...Map.groupBy(lines, (one) => `${lineOf(one)} ${one.day}`).values()].flatMap((ofDay) =>
    ofDay.slice(0, 1).map((first): Mark => {
      const href = addressOf('/coverage', { day: first.day, source: first.source });
      return { line: lineOf(first), column: first.day, content: markOfDay(first.day, ofDay, href) };
    }),
  );
  // The days before the first event have a column, too: a mark is as wide in every table.
  const end = Math.min(until.getTime(), Date.now());
  for (let at = since.getTime(); at < end; at += DAY_MS)
    marks.push({ line: marks[0]?.line ?? '', column: new Date(at).toISOString().slice(0, 10), content: '' });
  const byLine = Map.groupBy(lines, lineOf);
  const proven = numberColumn('Proven', (name: string) => provenOf(byLine.get(name) ?? []));
  return source === undefined
    ? marksTable('Coverage of each source by day', marks, {
        heading: 'Source',
        cell: (name) => html`<a href=${addressOf('/coverage', { ...shown, source: name })}>${name}</a>`,
        further: [proven],
      })
    : marksTable(`Coverage of ${source} by type and day`, marks, { heading: 'Type', further: [proven] });
}

/** A day with the worst of its states, and in words how many quarters are in each. */
function markOfDay(day: string, lines: readonly DayCoverage[], href: string): Content {
  const states = WORST_FIRST.filter((state) => sumOf(lines, state) > 0);
  const counts = states.map((state) => `${sumOf(lines, state)} ${COVERAGE_WORDS[state]}`).join(', ');
  const [worst = 'pending'] = states;
  const types = lines
    .filter((line) => countsOf(line)[worst] > 0)
    .map(({ message_type: type }) => titleOfType(type));
  const where =
    lines.length === 1 || worst === 'whole' || worst === 'push only' ? '' : ` (${types.join(', ')})`;
  const reasons = [...new Set(lines.flatMap((line) => line.reasons))];
  const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
  const fetched = lines.reduce((sum, line) => sum + line.healed_events, 0);
  const words = `${day}: ${counts}${where}${why}${fetched === 0 ? '' : `; ${countOf(fetched, 'event')} fetched`}`;
  return markOf(LOOKS[worst], words, href);
}

/** Which part of the quarters that can be proven is; those that may still be are left out. */
function provenOf(lines: readonly DayCoverage[]): string {
  const proven = sumOf(lines, 'whole') + sumOf(lines, 'healed');
  const all = proven + sumOf(lines, 'not comparable') + sumOf(lines, 'unrecoverable');
  // Rounded down: one lost quarter is not 100 %.
  return all === 0 ? '–' : `${Math.floor((proven / all) * 10_000) / 100} %`;
}

/** The quarters of a day, a table for each source, with a line for each of its message types. */
const hoursOf = (quarters: readonly QuarterCoverage[], shown: Shown): Content =>
  [...Map.groupBy(quarters, ({ source }) => source)].map(([source, ofSource]) => [
    shown.source === undefined &&
      html`<h3><a href=${addressOf('/coverage', { ...shown, source })}>${source}</a></h3>`,
    marksTable(`Coverage of ${source} by type and hour`, ofSource.map(markOfQuarter), { heading: 'Type' }),
  ]);

function markOfQuarter({ quarter, message_type: type, state, reason, healed }: QuarterCoverage): Mark {
  const time = quarter.toISOString().slice(11, 16);
  const fetched = healed === 0 ? '' : `, ${countOf(healed, 'event')} fetched`;
  const why = state === 'not comparable' ? ` (${reason})` : '';
  const words = `${time}: ${COVERAGE_WORDS[state]}${why}${fetched}`;
  const content = markOf(LOOKS[state], words, undefined, 'quarter');
  return { line: titleOfType(type), column: time.slice(0, 2), content };
}

type Gap = Omit<MissingPeriod, 'message_type'> & { readonly types: readonly string[] };

/** The gaps, newest first, those of several types in one line if all else is the same to the minute. */
function together(gaps: readonly MissingPeriod[]): readonly Gap[] {
  const minuteOf = (at: Date | null) => at && Math.floor(at.getTime() / MINUTE_MS);
  const groups = Map.groupBy(gaps, ({ source, reason, detail, began_at: began, ended_at: ended, ...gap }) =>
    JSON.stringify([source, reason, detail, minuteOf(began), minuteOf(ended), gap.message_type === null]),
  );
  return [...groups.values()].flatMap((group) =>
    group.slice(-1).map((earliest) => ({
      ...earliest,
      ended_at: earliest.ended_at && new Date(Math.max(...group.map((one) => Number(one.ended_at)))),
      types: [...new Set(group.flatMap((one) => one.message_type ?? []))],
    })),
  );
}

const GAPS: readonly Column<Gap>[] = [
  { heading: { time: 'From' }, cell: ({ began_at: began }) => timeOf(began) },
  {
    heading: { time: 'To' },
    cell: ({ ended_at: ended }) => (ended === null ? 'persists' : timeOf(ended)),
  },
  { heading: 'Source', cell: ({ source }) => source ?? 'all' },
  {
    heading: 'Types',
    kind: 'wrap',
    cell: ({ types }) =>
      [0, CLOUD_TYPES.length].includes(types.length) ? 'all' : types.map(titleOfType).join(', '),
  },
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
