import { exactTerm } from '../../events/search-query.ts';
import type { Request } from 'express';
import { z } from 'zod';
import { eventHistogram } from '../../store/events/event-histogram.ts';
import { summarizeAccessPoint } from '../../store/events/timeline.ts';
import type { Db } from '../../store/server/database.ts';
import { readDirectoryEntry } from '../../store/counts/read-directory.ts';
import type { Scope } from '../../store/server/scope.ts';
import { formatCount } from '../../lib/text/units.ts';
import { searchAddress } from '../addresses.ts';
import { queryOf, readQuery } from '../api/parameters.ts';
import { cursor, mac, readEvents } from '../events/conditions.ts';
import { html, type Page } from '../html/html.ts';
import { factsPanel, timeOf } from '../html/elements.ts';
import { lastSeenOf } from './directory-page.ts';
import { silenceBars } from './time-bars.ts';
import { eventsOf } from './timeline-pages.ts';
import { DAY_MS, MINUTE_MS } from '../../lib/clock.ts';

const query = z.object({ mac: mac('MAC address of the access point, in any notation'), cursor });

const EVENTS_PER_PAGE = 50;

/** The length of the chart of silence, in days and in its bars. */
const DAYS = 7;
const QUARTER_MS = 15 * MINUTE_MS;

/** The page of an access point: its facts, when it was silent, and its events, newest first. */
export async function renderAccessPoint(db: Db, scope: Scope, request: Request): Promise<Page> {
  const { values, right: written } = readQuery(query, queryOf(request));
  const address = values.mac;
  const now = Date.now();
  const end = Math.ceil(now / QUARTER_MS) * QUARTER_MS;
  const range = { since: new Date(end - DAYS * DAY_MS), until: new Date(end) };
  const terms = [exactTerm('ap', address)];
  const [entry, activity, histogram, page] = await Promise.all([
    readDirectoryEntry(db, scope, 'access point', address),
    summarizeAccessPoint(db, scope, address, new Date(now - DAY_MS)),
    eventHistogram(db, scope, { ...range, terms }, (DAYS * DAY_MS) / QUARTER_MS),
    readEvents(db, scope, { terms }, { limit: EVENTS_PER_PAGE, after: values.cursor }),
  ]);
  const lastSeen = entry?.lastSeen ?? page.items[0]?.occurredAt;
  const lastDay = searchAddress({ since: '24h', q: `ap:${address}` });
  const content = html`
    ${factsPanel('Access point', [
      ['Host name', entry?.name],
      ['MAC address', html`<span class="mono">${address}</span>`],
      ['Last seen', lastSeen && [timeOf(lastSeen), ' ', lastSeenOf('access point', new Date(lastSeen))]],
      [
        'Clients in the last day',
        activity === undefined
          ? 'too many to count'
          : html`<a href=${lastDay}>${formatCount(activity.clients)}</a>`,
      ],
      ['SSIDs in the last day', activity && activity.ssids.length > 0 && activity.ssids.join(', ')],
    ])}
    ${histogram.isComplete && silenceBars(histogram.bars, range)}
    ${eventsOf('Events', '/devices/access-point', written, page, `ap:${address}`, 'No events from or about this access point.')}
  `;
  return { title: entry?.name ?? `Access point ${address}`, content };
}
