import type { Request } from 'express';
import type { VNode } from 'preact';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { addressOf } from '../addresses.ts';
import type { Query } from '../addresses.ts';
import { queryOf, readQuery, textOf, withBeginning } from '../api/query.ts';
import type { Problems, Written } from '../api/query.ts';
import { fieldOf, rangeFields, rangeLinks, typesField } from '../html/form.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import {
  conditionShape,
  cursor,
  filterOf,
  isInOrder,
  NOT_IN_ORDER,
  queryOfConditions,
  readEvents,
} from './conditions.ts';
import { eventTable } from './event-table.ts';
import { pagingLinks } from './paging-links.ts';

const EVENTS_A_PAGE = 50;

/** Without a beginning, a search is about the last day. */
const USUAL_DAYS = 1;

const search = z.object({ ...conditionShape, cursor }).refine(isInOrder, NOT_IN_ORDER);

/** The search for events: its form, the events over time, and one page of them. */
export async function renderSearch(db: Db, request: Request): Promise<Page> {
  const written = withBeginning(queryOf(request), USUAL_DAYS);
  const { asked, problems } = readQuery(search, written);
  if (problems !== undefined) {
    const content = [
      searchForm(written, problems),
      problems.has('cursor') && html`<p class="note bad">This page cannot be found: search again.</p>`,
    ];
    return { title: 'Events', content };
  }
  const { cursor: after, ...conditions } = asked;
  const page = await readEvents(db, filterOf(conditions), { limit: EVENTS_A_PAGE, after });
  const exactly = queryOfConditions({ ...conditions, until: conditions.until ?? new Date() });
  const [type, ...otherTypes] = conditions.type ?? [];
  return {
    title: 'Events',
    modules: ['histogram.js', 'export.js'],
    content: [
      searchForm(written, new Map()),
      html`
        <div class="row apart">
          ${rangeLinks('/events', written)}
          <a href=${addressOf('/events', exactly)}>Link to exactly this range</a>
        </div>
      `,
      histogramFigure(exactly),
      page.events.length === 0
        ? nothingFound(written)
        : [exportLinks(exactly), eventTable(page.events, otherTypes.length === 0 ? type : undefined)],
      pagingLinks('/events', written, page),
    ],
  };
}

/** What browser/histogram.js fills in. */
const histogramFigure = (exactly: Query) => html`
  <section
    class="histogram"
    aria-label="Events over time"
    data-histogram=${addressOf('/events/histogram', exactly)}
  ></section>
`;

const nothingFound = (written: Written) => html`
  <div class="empty">
    <p>No events match in this range.</p>
    <p>
      Take a longer range, for instance${' '}
      <a href=${addressOf('/events', { ...written, since: '30d', until: undefined, cursor: undefined })}>
        the last 30 days</a
      >, or fewer conditions.
    </p>
  </div>
`;

/** Plain links: the browser writes the file to its disk while it arrives. browser/export.js shows how far it is. */
const exportLinks = (exactly: Query): Content => html`
  <div class="row exports">
    <span class="dim">All that match, as a file:</span>
    ${(['csv', 'ndjson'] as const).map(
      (format) => html`
        <a class="button quiet" data-export href=${addressOf('/api/v1/events/export', { ...exactly, format })}
          >${format.toUpperCase()}</a
        >
      `,
    )}
  </div>
`;

/** Those that are asked most. */
const FIELDS = [
  ['user', 'User'],
  ['mac', 'MAC address', 'client or access point'],
  ['text', 'Text', 'any part of the record'],
] as const;

const FURTHER_FIELDS = [
  ['code', 'Code', '10001'],
  ['ap', 'Access point', 'MAC address'],
  ['device', 'Device', 'serial number, host name, id'],
  ['org', 'Organization', 'number'],
  ['source', 'Source'],
] as const;

/** The form of a search, filled in with what was asked, right or wrong. */
export function searchForm(written: Written, problems: Problems): VNode {
  const field = ([name, label, placeholder]: readonly [string, string, string?]) =>
    fieldOf({ name, label, value: textOf(written, name), placeholder, problem: problems.get(name) });
  const isFurther = FURTHER_FIELDS.some(([name]) => written[name] !== undefined);
  const types = [written['type'] ?? []].flat();
  return html`
    <form method="get" action="/events" role="search" aria-label="Events">
      <div class="fields">${rangeFields(written, problems)} ${FIELDS.map(field)}</div>
      <details open=${isFurther || types.length > 0}>
        <summary>More conditions</summary>
        <div class="fields">${FURTHER_FIELDS.map(field)}</div>
        ${typesField(types, problems.get('type'))}
      </details>
      <div class="row">
        <button>Search</button>
        <a class="button quiet" href="/events">Start over</a>
      </div>
    </form>
  `;
}
