import type { Request } from 'express';
import { CHANGE_DESTINATIONS, hasAccess, type Visitor } from '../access/access.ts';
import { addressOf } from '../addresses.ts';
import { only, queryOf, readQuery, withBeginning, type Written } from '../api/parameters.ts';
import { withValidRange, rangeShape } from '../events/conditions.ts';
import { partOf, loadParts } from '../page-parts.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { rangePicker } from '../html/range-picker.ts';
import { sparkline } from '../html/sparkline.ts';
import { agoOf, freshnessOf, livePart, timeOf, zoneName, badge, withTimes } from '../html/elements.ts';
import { administratorsPanel, alertsPanel, eventsPanel, failedLoginsPanel } from './activity-panels.ts';
import { wholeRange } from '../people/people-schemas.ts';
import type { Activity, Overview } from './overview-schemas.ts';
import { capitalized } from '../../lib/text/capitalized.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import { QUESTIONS } from '../../observe/service-status.ts';
import type { Status } from '../../observe/status.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';

const query = withValidRange(rangeShape);

/** The first page. browser/pages/overview.ts refreshes its parts with `data-live`. */
export async function renderOverview(
  request: Request,
  visitor: Visitor,
  overview: Overview,
  activityIn: (range: WholeRange) => Promise<Activity>,
  firstDelivery: string,
): Promise<Page> {
  const { read, problems } = loadParts();
  const asked = readQuery(query, queryOf(request), (written) => withUsualRange(written, overview));
  const { right: written } = asked;
  const shown = wholeRange(asked.values);
  const counted = asked.values.until === undefined ? countedRange(shown, overview) : shown;
  const activity = await read('activity', () => activityIn(counted));
  const all = [...overview.problems, ...problems];
  const range = only(written, ['since', 'until', 'source']);
  const figures = (id: string, draw: (activity: Activity) => Content) =>
    livePart(id, partOf(all, 'activity', activity, draw), 'panel');
  // Others change nothing, or not for all sources.
  const isAdvised = hasAccess(visitor, CHANGE_DESTINATIONS);
  // People who may not see all sources cannot send one.
  const isFirst = visitor.scope === 'all' && overview.has_arrived === false;
  return {
    title: 'Overview',
    modules: ['pages/overview.ts', 'charts/range-chart.ts'],
    bar: html`<form method="get" action="/" aria-label="Time range">${rangePicker('/', asked)}</form>`,
    beside: freshnessOf(overview.at),
    content: html`
      ${livePart('service', answersPanel(overview), 'panels')}
      ${livePart('start', isFirst && firstDeliveryNote(firstDelivery))}
      <div id="all-needs" class="panels">${livePart('needs', needsPanel(overview, isAdvised), 'panel')}</div>
      <section class="panel" id="arrivals">
        <div class="row head">
          <h2>Events received</h2>
          <div data-legend></div>
        </div>
        <div
          id="arrivals-chart"
          data-histogram=${addressOf('/arrivals', range)}
          data-height="180"
          data-label="Events received, by time and family of message types"
        ></div>
        <noscript><p class="dim">The chart needs JavaScript.</p></noscript>
      </section>
      <div class="panels activity">
        ${figures('administrators', administratorsPanel)} ${figures('events', eventsPanel)}
        ${figures('failed-logins', failedLoginsPanel)} ${figures('alerts', alertsPanel)}
      </div>
      ${livePart('counted', countedNote(counted), 'dim')}
    `,
  };
}

/** When the last delivery arrived; undefined if none did. */
function lastArrivalOf({ conservation }: Overview): number | undefined {
  const times = (conservation?.items ?? []).flatMap(({ last_received_at: at }) => at?.getTime() ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

/** The ranges that the page opens on, the shortest first. */
const USUAL_RANGES = [
  ['1h', HOUR_MS],
  ['24h', DAY_MS],
  ['7d', 7 * DAY_MS],
] as const;

/**
 * The range of the address; else the shortest in which anything arrived, or the day of the last arrival. If nothing ever
 * did, the shortest of all, as the next delivery shows there first.
 */
function withUsualRange(written: Written, overview: Overview): Written {
  if (written['since'] !== undefined || written['until'] !== undefined) return withBeginning(written, 1);
  const now = overview.at.getTime();
  const last = lastArrivalOf(overview) ?? now;
  const usual = USUAL_RANGES.find(([, length]) => now - last < length);
  if (usual !== undefined) return { ...written, since: usual[0] };
  const end = Math.ceil(last / MINUTE_MS + 1) * MINUTE_MS;
  return withBeginning({ ...written, until: new Date(end).toISOString() }, 1);
}

/** Counting this many events takes 50 ms. */
const FEW_EVENTS = 100_000;

/** What the figures count of a range that ends now: at least a day. */
function countedRange({ since, until }: WholeRange, { conservation }: Overview): WholeRange {
  // Whole minutes, so that those who look within a minute share the answer. Few events are counted up to this second, as
  // the first one is looked for at once.
  const events = conservation?.items.reduce((sum, one) => sum + one.events, 0) ?? Infinity;
  const step = events > FEW_EVENTS ? MINUTE_MS : 1_000;
  const end = Math.floor(until.getTime() / step) * step;
  const length = Math.max(DAY_MS, until.getTime() - since.getTime());
  return { since: new Date(end - length), until: new Date(end) };
}

const countedNote = ({ since, until }: WholeRange): Content => html`
  <p>
    Administrators, events, failed logins and alerts from ${timeOf(since)} to ${timeOf(until)} ${zoneName()}.
  </p>
`;

function firstDeliveryNote(line: string): Content {
  return html`
    <div class="empty">
      <h2>Nothing has arrived yet</h2>
      <p>To send a first delivery, run this in the directory where the service was started:</p>
      <pre>${line}</pre>
      <p>
        The webhook secret is the setting <code>WEBHOOK_SECRET</code> or, if that is not set, the generated
        one in <code>data/webhook-secret</code> (in <code>DATA_DIR</code>).
      </p>
      <p>
        To subscribe in the cloud, open <a href="/subscriptions">Subscriptions</a>, or run${' '}
        <code>bin/xiq-sink subscribe plan</code> and then <code>bin/xiq-sink subscribe apply</code> with${' '}
        <code>PUBLIC_URL</code>, <code>CLOUD_API_URL</code> and <code>CLOUD_API_TOKEN</code> set.
      </p>
    </div>
  `;
}

/** The answer to each of the four questions: its status in a word, a figure and one line, with the page behind it. */
function answersPanel({ answers, hourly_events: hourly }: Overview): Content {
  return QUESTIONS.map((question) => {
    const { status, figure } = answers[question];
    const [number, ...unit] = figure?.split(' ') ?? ['–'];
    return html`
      <section class="panel answer">
        <div class="row apart">
          <h2><a href=${status.page}>${capitalized(question)}</a></h2>
          ${badge(status.level, status.word)}
        </div>
        <div class="row apart">
          <p class="figure">${number} <span class="unit">${unit.join(' ')}</span></p>
          ${question === 'stored' && hourly && sparkline(hourly, '24 hours')}
        </div>
        <p class="dim">${withTimes(status.what.replace(/; .*/s, ''))}</p>
      </section>
    `;
  });
}

/** More are shown on request: the chart below is to be seen without scrolling. */
const MOST_NEEDS = 3;

/** Everything that needs attention, the worst of each question first, with advice for those who may follow it. */
function needsPanel({ answers }: Overview, isAdvised: boolean): Content {
  const needs = QUESTIONS.flatMap((question) => answers[question].needs);
  return html`
    <div class="row apart">
      <h2>Needs attention</h2>
      ${needs.length === 0 && html`<p class="dim">Nothing needs attention.</p>`}
      ${needs.length > MOST_NEEDS && html`<a href="#all-needs">All ${needs.length} items</a>`}
    </div>
    ${
      needs.length > 0 &&
      html`<ul class="lines needs">
        ${needs.map((need) => needLine(need, isAdvised ? need.remedy : null))}
      </ul>`
    }
  `;
}

const needLine = ({ level, word, what, since, page }: Status, remedy: string | null): Content => html`
  <li>
    ${badge(level, word)}
    <span title=${remedy}>${withTimes(what)} <span class="dim">${remedy}</span></span>
    ${since !== null && html`<span class="dim nowrap">${agoOf(since)}</span>`}
    <a class="button quiet" href=${page}>Open ${page.split('/')[1] || 'overview'}</a>
  </li>
`;
