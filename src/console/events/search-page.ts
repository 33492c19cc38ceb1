import type { Request } from 'express';
import type { VNode } from 'preact';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import type { Visitor } from '../access/access.ts';
import { hasAccess } from '../access/rule.ts';
import { addressOf, type Query } from '../addresses.ts';
import { queryOf, readQuery, withBeginning, type Problems, type Written } from '../api/query.ts';
import { fieldOf, rangeFields, rangeLinks, typesField } from '../html/form.ts';
import { html, type Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { pagerOf } from '../html/table.ts';
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

const EVENTS_PER_PAGE = 50;

/** The default range of a search. */
const USUAL_DAYS = 1;

const search = z.object({ ...conditionShape, cursor }).refine(isInOrder, NOT_IN_ORDER);

/** The search for events: its form, the histogram, and one page of events. */
export async function renderSearch(db: Db, visitor: Visitor, request: Request): Promise<Page> {
  const written = withBeginning(queryOf(request), USUAL_DAYS);
  const { asked, problems } = readQuery(search, written);
  if (problems !== undefined) {
    const content = [
      searchForm(written, problems),
      problems.has('cursor') &&
        html`<p class="note bad">This page of results does not exist. Search again.</p>`,
    ];
    return { title: 'Events', content };
  }
  const { cursor: after, ...conditions } = asked;
  const page = await readEvents(db, visitor.scope, filterOf(conditions), { limit: EVENTS_PER_PAGE, after });
  const exactly = queryOfConditions({ ...conditions, until: conditions.until ?? new Date() });
  const [type, ...otherTypes] = conditions.type ?? [];
  const mayExport = hasAccess(visitor, { needs: 'events.export', data: 'by source' });
  return {
    title: 'Events',
    modules: ['histogram.js', 'export.js'],
    content: [
      searchForm(written, new Map()),
      html`
        <div class="row apart">
          ${rangeLinks('/events', written)}
          <a href=${addressOf('/events', exactly)}>Permanent link to this range</a>
        </div>
      `,
      histogramFigure(exactly),
      page.items.length === 0
        ? nothingFound(written)
        : [
            mayExport && exportLinks(exactly),
            eventTable(page.items, otherTypes.length === 0 ? type : undefined),
          ],
      pagerOf('/events', written, page.next),
    ],
  };
}

/** browser/histogram.js draws into this section. */
const histogramFigure = (exactly: Query) => html`
  <section
    class="histogram"
    aria-label="Events over time"
    data-histogram=${addressOf('/events/histogram', exactly)}
  ></section>
`;

const nothingFound = (written: Written) => html`
  <div class="empty">
    <p>No events match these conditions in this range.</p>
    <p>
      Try a longer range, for example${' '}
      <a href=${addressOf('/events', { ...written, since: '30d', until: undefined, cursor: undefined })}>
        the last 30 days</a
      >, or remove conditions.
    </p>
  </div>
`;

/** Plain download links; browser/export.js shows the progress. */
const exportLinks = (exactly: Query): Content => html`
  <div class="row exports">
    <span class="dim">Export all matching events:</span>
    ${(['csv', 'ndjson'] as const).map(
      (format) => html`
        <a class="button quiet" data-export href=${addressOf('/api/v1/events/export', { ...exactly, format })}
          >${format.toUpperCase()}</a
        >
      `,
    )}
  </div>
`;

/** The most used conditions. */
const FIELDS = [
  ['user', 'User'],
  ['mac', 'MAC address', 'client or access point'],
  ['text', 'Text', 'any part of the record'],
] as const;

const FURTHER_FIELDS = [
  ['code', 'Code', '10001'],
  ['ap', 'Access point', 'MAC address'],
  ['device', 'Device', 'serial number, host name or ID'],
  ['org', 'Organization', 'ID'],
  ['source', 'Source'],
] as const;

/** The form of a search with the conditions as they were entered, valid or not. */
function searchForm(written: Written, problems: Problems): VNode {
  const field = ([name, label, placeholder]: readonly [string, string, string?]) =>
    fieldOf(written, name, label, placeholder, problems);
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
        <a class="button quiet" href="/events">Clear</a>
      </div>
    </form>
  `;
}
