import type { Request } from 'express';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { addressOf } from '../addresses.ts';
import type { Query } from '../addresses.ts';
import { queryOf } from '../api/query.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { readQuery, withBeginning } from './asked-query.ts';
import type { Written } from './asked-query.ts';
import { conditionShape, filterOf, isInOrder, NOT_IN_ORDER, queryOfConditions } from './conditions.ts';
import { eventTable } from './event-table.ts';
import { cursor, readPage } from './page-of-events.ts';
import { pagingLinks } from './paging-links.ts';
import { rangeLinks } from './range-fields.ts';
import { searchForm } from './search-form.ts';

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
  const page = await readPage(db, filterOf(conditions), { limit: EVENTS_A_PAGE, after });
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
