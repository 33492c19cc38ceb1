import { statusOfSeal } from '../../observe/status.ts';
import { DAY_MS } from '../../lib/clock.ts';
import type { MonthRange } from '../../lib/text/parse-time.ts';
import { countOf, formatCount } from '../../lib/text/units.ts';
import { readSealFacts } from '../../store/seal/verifications.ts';
import type { Db } from '../../store/server/database.ts';
import { hasAccess, VERIFY, type Visitor } from '../access/access.ts';
import { addressOf, eventAddress } from '../addresses.ts';
import { NOTHING_ENTERED } from '../api/parameters.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { fieldOf, monthField, timeField } from '../html/form.ts';
import {
  agoOf,
  badge,
  factsPanel,
  livePart,
  panelOf,
  timeHeading,
  timeOf,
  withTimes,
  zoneName,
} from '../html/elements.ts';
import { legendOf, markOf, marksTable, type Look, type Mark } from '../html/marks.ts';
import { numberColumn, tableOf, type Column } from '../browser/shared/table.ts';
import type { Day, DescribedRun, Finding, Integrity } from './integrity-schemas.ts';
import { readIntegrity } from './read-integrity.ts';

/**
 * The page Integrity: its status, the days of a month, what differs, the checkpoint and who keeps it, and the verification that
 * runs, or the last one.
 */
export async function renderIntegrity(
  db: Db,
  visitor: Visitor,
  range: MonthRange,
  run: DescribedRun | undefined,
): Promise<Page> {
  const { month } = range;
  const integrity = await readIntegrity(db, range);
  const status = statusOfSeal(await readSealFacts(db), new Date());
  const isRunning = run?.state === 'running';
  return {
    title: 'Integrity',
    modules: isRunning ? ['pages/overview.ts'] : [],
    content: html`
      <p>
        ${badge(status.level, status.word)}${' '}
        ${withTimes(status.what)}${status.since !== null && html` (since ${timeOf(status.since)} ${zoneName()})`}.
        ${status.remedy !== null && ` ${status.remedy}`}
      </p>
      <section class="panel" aria-label="Days">
        <form class="filters" action="/integrity" aria-label="Month">
          ${monthField(month)}
          <button class="quiet">Show</button>
          <a class="button quiet" href=${addressOf('/certificate', { month })}>Certificate</a>
        </form>
        ${livePart('days', daysOf(integrity.days, month))}
      </section>
      ${integrity.differences.length > 0 && panelOf('Altered and missing', findingsOf(integrity.differences))}
      <div class="panels broad">
        ${verifiedPanel(integrity)}
        ${livePart(
          'verification',
          html`<h2>Verify now</h2>
            ${hasAccess(visitor, VERIFY) && !isRunning && verifyForm} ${run && runOf(run)}`,
          'panel',
        )}
        ${checkpointPanel(integrity)} ${anchorsPanel(integrity)}
      </div>
    `,
  };
}

const LOOKS: Readonly<Record<NonNullable<Day['word']>, Look>> = {
  intact: ['good', '', 'as it was sealed'],
  missing: ['bad', '×', 'a sealed row is missing'],
  altered: ['bad', '!', 'a row differs from its seal'],
  'not sealed yet': ['warn', '…', 'waiting for the seal'],
  'not compared yet': ['plain', '·', 'sealed, but not compared since'],
  expired: ['warn', '~', 'retention dropped the month'],
  erased: ['warn', '−', 'deleted on request'],
};

const NO_EVENTS: Look = ['open', '', 'no events'];

/** A mark for each day of a month, which leads to its deliveries. */
function daysOf(days: readonly Day[], month: string): Content {
  if (days.length === 0) return html`<p class="empty">This month has not begun.</p>`;
  const marks = days.map(({ day: column, events, word, count }): Mark => {
    const until = new Date(Date.parse(column) + DAY_MS).toISOString().slice(0, 10);
    const words = `${column}: ${word ?? 'no events'} ${word === 'intact' ? '' : (count ?? '')}, ${countOf(events, 'event')}`;
    const href = addressOf('/deliveries', { since: column, until });
    const content = word === null ? markOf(NO_EVENTS, words) : markOf(LOOKS[word], words, href);
    return { line: month, column, content };
  });
  return html`
    <p class="dim">Days in UTC, by time of arrival. Each day shows the worst state of its events.</p>
    ${marksTable('Days of the month', marks, { heading: 'Month' })} ${legendOf(LOOKS)}
  `;
}

const FINDING_COLUMNS: readonly Column<Finding>[] = [
  { heading: 'State', cell: ({ state }) => badge('bad', state.toLowerCase()) },
  {
    heading: 'Row',
    cell: ({ subject, event_id: id, occurred_at: at, key }) =>
      id === null || at === null
        ? `${subject} ${key ?? ''}`
        : html`<a href=${eventAddress({ eventId: id, occurredAt: at.toISOString() })}>${subject} ${id}</a>`,
  },
  { heading: 'Source', cell: ({ source }) => source },
  { heading: 'Type', cell: ({ message_type: type }) => type },
  { heading: 'Details', kind: 'wrap', cell: ({ detail }) => detail },
];

const findingsOf = (findings: readonly Finding[]) =>
  tableOf('Rows that differ from the seal', FINDING_COLUMNS, findings);

const verifyForm = html`
  <p>
    Compare all stored rows with their seal, as <code>xiq-sink verify</code> does. The range limits events and
    deliveries.
  </p>
  <form class="filters" data-action="/integrity/verify" data-done="The verification has started.">
    ${timeField('since', 'Received since', '7d, 2026-01-31')} ${timeField('until', 'Until', 'now')}
    ${fieldOf(NOTHING_ENTERED, 'source', 'Source', 'all')}
    <button>Verify now</button>
  </form>
`;

/** The verification that runs, or the last one. */
function runOf(run: DescribedRun): Content {
  const { state, operator, result, error, findings } = run;
  const range = [run.since && `since ${iso(run.since)}`, run.until && `until ${iso(run.until)}`, run.source]
    .filter((part) => part !== null && part !== '')
    .join(', ');
  return html`
    <p class="dim">
      Started by ${operator} at ${timeOf(run.started_at)} ${zoneName()}${range !== '' && ` (${range})`}. The
      operator log records the result.
    </p>
    ${state === 'running' && progressOf(run)}
    ${error !== null && html`<p class="note bad">The verification failed: ${error}</p>`}
    ${
      result &&
      html`
        <p>
          ${foundOf(result, 'unchanged')}. The tree agrees with
          ${' '}${countOf(result.checkpoints, 'checkpoint')}. ${result.doubts.join(' ')}
        </p>
      `
    }
    ${findings.length > 0 && findingsOf(findings)}
  `;
}

/** How far a verification is. */
export const progressOf = ({ leaves, leaves_done: done }: DescribedRun): Content => html`
  <p>
    <progress max=${Math.max(1, leaves)} value=${done} aria-label="Verified rows"></progress>${' '}
    <span role="status">${formatCount(done)} of ${countOf(leaves, 'row')} verified</span>
  </p>
`;

/** What a verification has found, and whether that is as it was sealed. */
export function foundOf(
  result: Omit<NonNullable<DescribedRun['result']>, 'checkpoints'>,
  good: string,
): Content {
  const { intact, expired, erased, altered, missing, inserted, not_sealed_yet: waiting, doubts } = result;
  const counts = {
    intact,
    expired,
    'erased on request': erased,
    altered,
    missing,
    inserted,
    'not sealed yet': waiting,
  };
  const found = Object.entries(counts).map(([word, count]) => `${formatCount(count)} ${word}`);
  const sealed = doubts.length > 0 ? badge('bad', 'not proven') : badge('good', good);
  return html`${altered + missing + inserted > 0 ? badge('bad', 'changed') : sealed}${' '}${found.join(', ')}`;
}

const iso = (time: Date) => time.toISOString().slice(0, 19).replace('T', ' ');

/** What the service finds by itself. */
function verifiedPanel({ verified, checkpoint, not_sealed_yet: waiting }: Integrity): Content {
  const { leaves, since } = verified;
  const size = Math.max(leaves, checkpoint?.size ?? 0);
  return factsPanel(
    'Continuous verification',
    [
      ['Compared since', since === null ? undefined : timeOf(since)],
      [
        'Pass',
        html`
          <progress max=${Math.max(1, size)} value=${leaves} aria-label="Compared events"></progress>
          ${formatCount(leaves)} of ${countOf(size, 'event')}
        `,
      ],
      ['Altered', formatCount(verified.altered)],
      ['Missing', formatCount(verified.missing)],
      ['Not sealed yet', countOf(waiting, 'event')],
    ],
    html`<p class="dim">
      The service compares 8,192 rows with their seal every 5 s, and begins again at the end.
    </p>`,
  );
}

function checkpointPanel({ checkpoint }: Integrity): Content {
  if (checkpoint === null) return factsPanel('Latest checkpoint', [['Checkpoint', 'none yet']]);
  return factsPanel(
    'Latest checkpoint',
    [
      [timeHeading('Sealed up to'), timeOf(checkpoint.made_at)],
      ['Sealed rows', formatCount(checkpoint.size)],
      ['Public key', html`<code class="wrap">${checkpoint.public_key}</code>`],
    ],
    html`<pre class="wrap">${checkpoint.note}</pre>`,
  );
}

const ANCHOR_COLUMNS: readonly Column<Integrity['anchors'][number]>[] = [
  { heading: 'Place', cell: ({ name }) => name },
  {
    heading: 'State',
    kind: 'wrap',
    cell: ({ error, anchored_at: at }) =>
      error !== null
        ? [badge('warn', 'failing'), ` ${error}`]
        : at === null
          ? badge('plain', 'none yet')
          : badge('good', 'kept'),
  },
  numberColumn('Rows', ({ size }) => formatCount(size)),
  { heading: 'Last', cell: ({ anchored_at: at }) => agoOf(at) },
];

const NO_ANCHORS = html`No checkpoints are kept outside the database. Set <code>ANCHOR_FILE</code>,${' '}
  <code>ANCHOR_URL</code>, <code>TIMESTAMP_URL</code> or <code>WITNESSES</code>, or forward events.`;

const anchorsPanel = ({ anchors }: Integrity): Content =>
  panelOf('External copies', tableOf('Places that keep checkpoints', ANCHOR_COLUMNS, anchors, NO_ANCHORS));
