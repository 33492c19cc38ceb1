import type { Request } from 'express';
import type { z } from 'zod';
import type { Db } from '../../store/server/database.ts';
import type { StoredEvent } from '../../events/stored-event.ts';
import { listSavedSearches } from '../../store/alerts/saved-searches.ts';
import { searchStatement } from '../../store/events/search-events.ts';
import { readRange } from '../../store/log/read-log.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { rangeBefore } from '../../lib/text/parse-time.ts';
import { type Visitor, EXPORT, hasAccess } from '../access/access.ts';
import { TYPE_TITLES } from '../../events/event-words.ts';
import { ACTION_TITLES } from '../../events/record-kind.ts';
import { printSearch } from '../../events/search-query.ts';
import { addressOf, type Query } from '../addresses.ts';
import { queryOf, readQuery, withBeginning, type Written } from '../api/parameters.ts';
import { html, type Page, type Content } from '../html/html.ts';
import { zoneOf } from '../html/time-zone.ts';
import { pagerOf, timeOf } from '../html/elements.ts';
import type { EventOrder } from '../../store/partitions/time-slices.ts';
import {
  conditionShape,
  cursor,
  eventOrder,
  filterOf,
  withValidRange,
  queryOfConditions,
  readEvents,
  SEARCH_MS,
  termsOfConditions,
  type Conditions,
} from './conditions.ts';
import { columnChoice, columnsOf, eventList } from './event-list.ts';
import { alertButton, exportMenu, savedMenu } from './search-menus.ts';
import { joinSearchLine, movedSearch, searchLine, splitLine } from './search-line.ts';

const EVENTS_PER_PAGE = 50;

const USUAL_DAYS = 1;

const search = withValidRange({ ...conditionShape, cursor, order: eventOrder });

/** The search for events: its form, the histogram, and one page of events. */
export async function renderSearch(db: Db, visitor: Visitor, request: Request): Promise<Page | string> {
  const entered = joinSearchLine(queryOf(request));
  const moved = movedSearch(entered);
  if (moved !== undefined) return moved;
  const { right: rightLine, wrong } = splitLine(entered);
  const asked = readQuery(search, rightLine, (query) => withBeginning(query, USUAL_DAYS));
  const { values, problems, right: written } = asked;
  const { cursor: after, order, ...conditions } = values;
  const chosen = { ...conditions, source: visitor.source };
  const isNewest = followsNow(values);
  const isLive = isNewest && written['live'] === 'on';
  // Before the list is read: events that are stored meanwhile are in the stream.
  const next = isLive ? (await readRange(db)).next : undefined;
  const page = await readEvents(db, visitor.scope, filterOf({ ...conditions, until: endOf(conditions) }), {
    limit: EVENTS_PER_PAGE,
    after,
    order,
    milliseconds: SEARCH_MS,
  });
  const exactly = queryOfConditions({ ...chosen, until: conditions.until ?? new Date() });
  const facets = addressOf('/events/facets', exactly);
  const before = written['compare'] === 'on' ? queryBefore(chosen, zoneOf(request)) : undefined;
  const columns = await columnsOf(db, visitor.scope, request);
  const saved = await listSavedSearches(db, visitor.sources);
  const line = printSearch(termsOfConditions(chosen));
  const statement = searchStatement(db, visitor.scope, filterOf(conditions));
  return {
    title: 'Events',
    kind: 'dense',
    modules: [
      'events/columns.ts',
      isLive ? 'events/live.ts' : 'events/newer.ts',
      'events/search.ts',
      'events/facets.ts',
      'events/event-drawer.ts',
      'charts/range-chart.ts',
      'events/export.ts',
    ],
    search: searchLine(asked, wrong, facets, compareSwitch(written, before !== undefined)),
    content: [
      problems.has('cursor') &&
        html`<p class="note bad">That page of the list does not exist. This is the first one.</p>`,
      html`
        <div class="split">
          <details class="facets" data-wide="900">
            <summary>Filters</summary>
            <div
              data-facets=${facets}
              data-before=${before && addressOf('/events/facets', before)}
              data-titles=${JSON.stringify({ type: TYPE_TITLES, action: ACTION_TITLES })}
            ></div>
          </details>
          <div>
            ${histogramFigure(exactly, before)}
            <div class="row apart tools">
              <div data-legend></div>
              ${isNewest && !isLive && newerPlace(chosen, page.items[0])}
              <details class="controls" data-wide="561">
                <summary>Controls</summary>
                <div class="row">
                  ${liveSwitch(written, isLive)} ${savedMenu(saved, written, line, visitor)}
                  ${alertButton(saved, line, visitor)} ${columnChoice(columns)}
                  ${exportMenu(exactly, line, statement, hasAccess(visitor, EXPORT))}
                </div>
              </details>
            </div>
            <div id="export-progress"></div>
            ${next !== undefined && livePlace(chosen, written, next)}
            ${(isLive || page.items.length > 0) && eventList(page.items, written, columns)}
            ${!isLive && page.items.length === 0 && page.searched_to === null && nothingFound(written, line !== '')}
            ${page.searched_to !== null && searchedTo(page.searched_to, order)}
            ${!isLive && pagerOf('/events', written, page.next_cursor)}
          </div>
        </div>
        <div id="drawer"></div>
      `,
    ],
  };
}

/** The same search in the period before. */
function queryBefore(conditions: Conditions, zone: string): Query {
  const { since = new Date(0), until = new Date() } = conditions;
  return queryOfConditions({ ...conditions, ...rangeBefore({ since, until }, new Date(), zone) });
}

/** Events that claim to be of 2090 would fill the first page for ever. Clocks are seldom wrong by more than a day. */
function endOf({ since, until }: Conditions): Date | undefined {
  const isUntilNow = until === undefined && (since === undefined || since.getTime() < Date.now());
  return isUntilNow ? new Date(Date.now() + DAY_MS) : until;
}

const followsNow = ({ until, cursor: after, order }: z.output<typeof search>) =>
  until === undefined && after === undefined && order === 'newest';

/** Turned on, it leads to the newest events, since only they can be followed. */
const liveSwitch = (written: Written, isLive: boolean): Content =>
  switchTo(
    'Live',
    isLive,
    isLive ? 'Stop showing new events' : 'Show new events as they arrive',
    isLive
      ? { ...written, live: undefined }
      : { ...written, until: undefined, cursor: undefined, order: undefined, live: 'on' },
  );

const compareSwitch = (written: Written, isOn: boolean): Content =>
  switchTo('Compare', isOn, 'Compare with the previous period', {
    ...written,
    compare: isOn ? undefined : 'on',
  });

const switchTo = (label: string, isOn: boolean, title: string, query: Query): Content => html`
  <a
    class="button quiet switch"
    role="switch"
    aria-checked=${String(isOn)}
    title=${title}
    href=${addressOf('/events', query)}
    >${label}</a
  >
`;

/** browser/events/live.ts adds the events from a position on to the list, and says here how it is. */
function livePlace(values: Conditions, written: Written, position: number): Content {
  const { since: _since, ...watched } = queryOfConditions(values);
  const list = addressOf('/events', written);
  const stream = addressOf('/api/v1/events/stream', { ...watched, after: String(position), list });
  return html`
    <div class="following" data-stream=${stream}>
      Connecting…
      <noscript>Live needs JavaScript. On the command line, use xiq-sink events tail.</noscript>
    </div>
  `;
}

/**
 * browser/events/newer.ts tells here how many events there are since the newest one of the list. One from the future, of a
 * device whose clock is wrong, must not hide those of today.
 */
function newerPlace(values: Conditions, newest: StoredEvent | undefined): Content {
  const now = Date.now();
  const since = new Date(Math.min(now, newest === undefined ? now : Date.parse(newest.occurredAt) + 1));
  const until = new Date(now + DAY_MS);
  const query = { ...queryOfConditions({ ...values, since, until }), bars: '2' };
  return html`<div role="status" data-newer=${addressOf('/events/histogram', query)}></div>`;
}

/** browser/charts/range-chart.ts draws into this section. */
const histogramFigure = (exactly: Query, before: Query | undefined) => html`
  <section
    class="histogram"
    aria-label="Events over time"
    data-histogram=${addressOf('/events/histogram', exactly)}
    data-before=${before && addressOf('/events/histogram', before)}
    data-label="Events over time, by family of message types"
    data-height="73"
    data-fit="bars"
  ></section>
`;

/** The rest of the range takes longer than a page may. */
const searchedTo = (time: string, order: EventOrder) =>
  html`<p class="note">
    Searched ${order === 'newest' ? 'back' : 'on'} to ${timeOf(time)}. The next page continues there.
  </p>`;

const nothingFound = (written: Written, hasTerms: boolean) => {
  const longer = addressOf('/events', { ...written, since: '30d', until: undefined, cursor: undefined });
  return html`
    <div class="empty">
      <p>No events${hasTerms && ' match these conditions'} in this range.</p>
      <p>
        Try a longer range, for example${' '}
        <a href=${longer}>the last 30 days</a>${hasTerms && ', or remove conditions'}.
      </p>
    </div>
  `;
};
