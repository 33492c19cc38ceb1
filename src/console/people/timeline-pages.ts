import type { Request } from 'express';
import { MESSAGE_TYPES } from '../../domain.ts';
import { accessPointNames } from '../../store/positions.ts';
import type { Db } from '../../store/database.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { summarizeClient, summarizeUser } from '../../store/timeline.ts';
import type { ClientSummary, SeenWith, UserSummary } from '../../store/timeline.ts';
import type { Scope } from '../../store/scope.ts';
import { formatCount } from '../../units.ts';
import type { Visitor } from '../access/access.ts';
import { addressOf, clientAddress, eventAddress, searchAddress, userAddress } from '../addresses.ts';
import type { Query } from '../addresses.ts';
import type { PageOf } from '../api/paging.ts';
import { queryOf, readQuery, textOf, withBeginning, type Problems, type Written } from '../api/query.ts';
import { readEvents } from '../events/conditions.ts';
import { GENERAL_COLUMNS } from '../events/event-table.ts';
import { rangeFields, rangeLinks, typeSelect } from '../html/form.ts';
import { html, type Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { tableOf, type Column } from '../browser/table.js';
import { pagerOf } from '../html/pager.ts';
import { timeOf } from '../html/time-zone.ts';
import { factsOf } from '../browser/facts.js';
import { recordLook } from './looks.ts';
import { clientQuery, userQuery, USUAL_DAYS, wholeRange } from './people-schemas.ts';
import { accessPointName, readPlaces, whereaboutsOf } from './whereabouts.ts';

const USER: Subject = { path: '/people/user', parameter: 'name' };
const CLIENT: Subject = { path: '/people/client', parameter: 'mac' };

/** A page with a timeline, and the query parameter that names its user or client. */
interface Subject {
  readonly path: string;
  readonly parameter: 'name' | 'mac';
}

const EVENTS_PER_PAGE = 50;

/** A map with more dots is unreadable. */
const OBSERVATIONS = 500;

/** The page of a user: devices, access points, and events, newest first. */
export async function renderUser(db: Db, { operator, scope }: Visitor, request: Request): Promise<Page> {
  const written = withBeginning(queryOf(request), USUAL_DAYS);
  const { asked, problems } = readQuery(userQuery, written);
  const title = `User ${textOf(written, 'name') ?? ''}`;
  if (problems !== undefined) return { title, content: timelineForm(USER, written, problems) };
  const { name: user, type: messageTypes, since, until } = asked;
  const range = wholeRange(asked);
  // Further pages belong to the same look.
  if (asked.cursor === undefined) await recordLook(db, operator, user, range);
  const [summary, page] = await Promise.all([
    summarizeUser(db, scope, user, range.since, range.until),
    readEvents(
      db,
      scope,
      { user, messageTypes, since, until },
      { limit: EVENTS_PER_PAGE, after: asked.cursor },
    ),
  ]);
  const names = await namesOf(db, scope, summary);
  const inRange = rangeOf(written);
  const panels = [
    seenPanel(summary, USER, written),
    seenWithPanel(
      'Devices',
      summary.devices,
      (mac) => html`<a class="mono" href=${clientAddress(mac, inRange)}>${mac}</a>`,
    ),
    seenWithPanel('Access points', summary.accessPoints, (mac) => accessPointName(mac, names)),
  ];
  const content = html`
    ${timelineForm(USER, written)}
    <div class="panels">${panels}</div>
    ${timelineOf(USER, written, page, { user })}
  `;
  return { title, content };
}

/** The page of a client: users, access points, SSIDs, positions, and events, newest first. */
export async function renderClient(db: Db, { operator, scope }: Visitor, request: Request): Promise<Page> {
  const written = withBeginning(queryOf(request), USUAL_DAYS);
  const { asked, problems } = readQuery(clientQuery, written);
  if (problems !== undefined) return refuse(written, problems);
  const { mac, type: messageTypes, since, until } = asked;
  const range = wholeRange(asked);
  if (asked.cursor === undefined) await recordLook(db, operator, mac, range);
  const [summary, page, places] = await Promise.all([
    summarizeClient(db, scope, mac, range.since, range.until),
    readEvents(
      db,
      scope,
      { mac, messageTypes, since, until },
      { limit: EVENTS_PER_PAGE, after: asked.cursor },
    ),
    readPlaces(db, scope, mac, range, OBSERVATIONS),
  ]);
  const names = await namesOf(db, scope, summary);
  const inRange = rangeOf(written);
  const panels = [
    seenPanel(summary, CLIENT, written),
    seenWithPanel('Users', summary.users, (name) => html`<a href=${userAddress(name, inRange)}>${name}</a>`),
    seenWithPanel('Access points', summary.accessPoints, (ap) => accessPointName(ap, names)),
    seenWithPanel('SSIDs', summary.ssids, (name) => name),
  ];
  const content = html`
    ${timelineForm(CLIENT, written)}
    <div class="panels four">${panels}</div>
    <h2>Location</h2>
    ${whereaboutsOf(mac, places, OBSERVATIONS)} ${timelineOf(CLIENT, written, page, { mac })}
  `;
  return { title: `Client ${mac}`, content };
}

const namesOf = (db: Db, scope: Scope, { accessPoints }: UserSummary | ClientSummary) =>
  accessPointNames(
    db,
    scope,
    accessPoints.map(({ name: mac }) => mac),
  );

const rangeOf = (written: Written) => ({
  since: textOf(written, 'since'),
  until: textOf(written, 'until'),
});

function refuse(written: Written, problems: Problems): Page {
  const problem = problems.get('mac');
  return {
    title: `Client ${textOf(written, 'mac') ?? ''}`,
    content:
      problem === undefined
        ? timelineForm(CLIENT, written, problems)
        : html`<p class="note bad">The MAC address ${problem}. <a href="/people">Search again</a></p>`,
  };
}

/** The form above a timeline: range and type. */
function timelineForm({ path, parameter }: Subject, written: Written, problems?: Problems): Content {
  return html`
    <form method="get" action=${path} aria-label="Range and types">
      <input type="hidden" name=${parameter} value=${written[parameter]} />
      <div class="fields">
        ${rangeFields(written, problems)} ${typeSelect(MESSAGE_TYPES, written, problems)}
        <div class="field"><button>Show</button></div>
      </div>
    </form>
    ${rangeLinks(path, written)}
  `;
}

const COLUMNS: readonly Column<StoredEvent>[] = [
  {
    heading: { time: 'Time' },
    cell: (event) => html`
      <a href=${eventAddress(event)}>
        <time datetime=${event.occurredAt}>${event.occurredAt.slice(11, 19)}</time>
      </a>
    `,
  },
  ...GENERAL_COLUMNS,
];

/** Events by day, newest first, and a link to search them. */
function timelineOf({ path }: Subject, written: Written, page: PageOf<StoredEvent>, search: Query): Content {
  const byDay = Map.groupBy(page.items, ({ occurredAt }) => occurredAt.slice(0, 10));
  return html`
    <h2>Timeline</h2>
    <p>
      <a href=${searchAddress({ ...rangeOf(written), ...search })}>Search these events</a> to filter or export
      them.
    </p>
    ${page.items.length === 0 && html`<p class="empty">No events in this range. Choose a longer range or all types.</p>`}
    ${[...byDay].map(
      ([day, events]) => html`
        <section class="day">
          <h3>${day}</h3>
          ${tableOf(`Events of ${day}, newest first`, COLUMNS, events)}
        </section>
      `,
    )}
    ${page.items.length > 0 && pagerOf(path, written, page.next)}
  `;
}

/** First and last seen in a range, and the number of events of each type; a type links to its events. */
function seenPanel(
  { firstSeen, lastSeen, countsByType, isComplete }: UserSummary | ClientSummary,
  { path }: Subject,
  query: Query,
): Content {
  return html`
    <section class="panel">
      <h2>Seen in this range</h2>
      ${
        firstSeen === undefined || lastSeen === undefined
          ? html`<p class="dim">Not seen.</p>`
          : html`<p>First ${timeOf(firstSeen)}<br />Last ${timeOf(lastSeen)}</p>`
      }
      ${factsOf(
        MESSAGE_TYPES.map((type) => {
          const count = countsByType[type];
          return (
            count !== undefined && [
              html`<a href=${addressOf(path, { ...query, type, cursor: undefined })}>${type}</a>`,
              formatCount(count),
            ]
          );
        }),
      )}
      ${
        !isComplete &&
        html`<p class="note warn">
          Part of the data is missing because the query took too long. Choose a shorter range.
        </p>`
      }
    </section>
  `;
}

/** The users, clients, access points or SSIDs seen together with a user or client. */
function seenWithPanel(title: string, seen: readonly SeenWith[], nameOf: (name: string) => Content): Content {
  return html`
    <section class="panel">
      <h2>${title}</h2>
      ${
        seen.length === 0
          ? html`<p class="dim">None in this range.</p>`
          : html`<ul class="seen" tabindex="0" aria-label=${title}>
              ${seen.map(
                ({ name, count, lastSeen }) => html`
                  <li>
                    <span>${nameOf(name)}</span>
                    <span class="dim">${formatCount(count)}, last ${timeOf(lastSeen)}</span>
                  </li>
                `,
              )}
            </ul>`
      }
    </section>
  `;
}
