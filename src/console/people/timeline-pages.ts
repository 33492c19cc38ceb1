import type { Request } from 'express';
import { MESSAGE_TYPES, type MessageType } from '../../events/domain.ts';
import { TYPE_TITLES } from '../../events/event-words.ts';
import { FIELDS } from '../../events/message-types.ts';
import { exactTerm, printSearch, type SearchTerm } from '../../events/search-query.ts';
import { accessPointNames, clientPositions } from '../../store/events/positions.ts';
import { recordEnded } from '../../store/access/operator-log.ts';
import type { Db } from '../../store/server/database.ts';
import type { EventFilter } from '../../store/events/event-filter.ts';
import type { EventPage } from '../../store/events/event-pages.ts';
import { viewEvent, type StoredEvent } from '../../events/stored-event.ts';
import { summarizeClient, summarizeUser } from '../../store/events/timeline.ts';
import type { ClientSummary, SeenWith, UserSummary } from '../../store/events/timeline.ts';
import type { Scope } from '../../store/server/scope.ts';
import { formatCount } from '../../lib/text/units.ts';
import type { Visitor } from '../access/access.ts';
import { addressOf, clientAddress, searchAddress, userAddress, type Query } from '../addresses.ts';
import type { PageOf } from '../api/paging.ts';
import { queryOf, readQuery, textOf, withBeginning, type Entered, type Written } from '../api/parameters.ts';
import { readEvents } from '../events/conditions.ts';
import { eventTimeline } from '../events/event-timeline.ts';
import { typeSelect } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { pagerOf, panelOf, timeOf } from '../html/elements.ts';
import { rangePicker } from '../html/range-picker.ts';
import { factsOf } from '../browser/shared/facts.ts';
import { staysOf } from './intervals.ts';
import { roamingBars, sessionBars } from './time-bars.ts';
import { clientQuery, userQuery, USUAL_DAYS, wholeRange } from './people-schemas.ts';
import { accessPointName, staysTable, strongestOfEachTime } from './client-location.ts';

/** The pages with a timeline. */
const USER = '/people/user';
const CLIENT = '/devices/client';

/** What happened to a person or client is little: a page of it is enough, beside a link to all of it. */
const EVENTS_PER_PAGE = 50;

/** More of them are unreadable. */
const OBSERVATIONS = 500;

const HAPPENS_TO_USER: readonly MessageType[] = ['CREDENTIAL_LOG_ALL', 'EMAIL_LOG_ALL', 'SMS_LOG_ALL'];

/** What a person does: events of all other types with the name of a user. */
const USER_DOES = MESSAGE_TYPES.filter(
  (type) => FIELDS[type].some(({ column }) => /^user_?name$/.test(column)) && !HAPPENS_TO_USER.includes(type),
);

/** `GDPR_LOG_ALL` names the client whose data an administrator had deleted or downloaded. */
const CLIENT_DOES = MESSAGE_TYPES.filter((type) => type !== 'GDPR_LOG_ALL');

/** The page of a person: what the person did, what happened to the person, sessions and devices. */
export async function renderUser(db: Db, { operator, scope }: Visitor, request: Request): Promise<Page> {
  const asked = readQuery(userQuery, queryOf(request), inUsualRange);
  const { values, right: written } = asked;
  const { name: user, type, since, until } = values;
  const range = wholeRange(values);
  // Further pages belong to the same look.
  if (values.cursor === undefined)
    await recordEnded(db, { operator, action: 'timeline.read', subject: user, details: range });
  const named = exactTerm('user', user);
  const mentioned = [exactTerm('text', user), { ...named, isExcluded: true }];
  const read = eventsReader(db, scope, { since, until });
  const [summary, did, addressed, mentions, sessions] = await Promise.all([
    summarizeUser(db, scope, user, range.since, range.until),
    read([named], type ?? USER_DOES, EVENTS_PER_PAGE, values.cursor),
    read([named], HAPPENS_TO_USER, EVENTS_PER_PAGE),
    read(mentioned, ['AUDIT_LOG_ALL'], EVENTS_PER_PAGE),
    read([named], ['ACCOUNTING_LOG_ALL'], OBSERVATIONS),
  ]);
  const names = await namesOf(db, scope, macsOf(summary), [...did.items, ...sessions.items]);
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
  const affected = [...addressed.items, ...mentions.items]
    .toSorted((a, b) => (a.occurredAt > b.occurredAt ? -1 : 1))
    .slice(0, EVENTS_PER_PAGE);
  const content = html`
    ${timelineForm(USER, 'name', asked)}
    <div class="panels">${panels}</div>
    ${sessionBars(sessions.items, range, ({ clientMac }) => clientMac ?? 'unknown client')}
    ${eventsOf('Activity', USER, written, did, printSearch([named, exactTerm('type', ...(type ?? USER_DOES))]))}
    ${affectedOf(affected, written, [
      printSearch([named, exactTerm('type', ...HAPPENS_TO_USER)]),
      printSearch([...mentioned, exactTerm('type', 'AUDIT_LOG_ALL')]),
    ])}
  `;
  return { title: user, content };
}

/** The page of a client: sessions, roaming, what it did, and what happened to it. */
export async function renderClient(db: Db, { operator, scope }: Visitor, request: Request): Promise<Page> {
  const asked = readQuery(clientQuery, queryOf(request), inUsualRange);
  const { values, right: written } = asked;
  const { mac, type, since, until } = values;
  const range = wholeRange(values);
  if (values.cursor === undefined)
    await recordEnded(db, { operator, action: 'timeline.read', subject: mac, details: range });
  const named = exactTerm('client', mac);
  const read = eventsReader(db, scope, { since, until });
  const [summary, did, affected, sessions, logins, positions] = await Promise.all([
    summarizeClient(db, scope, mac, range.since, range.until),
    read([named], type ?? CLIENT_DOES, EVENTS_PER_PAGE, values.cursor),
    read([named], ['GDPR_LOG_ALL'], EVENTS_PER_PAGE),
    read([named], ['ACCOUNTING_LOG_ALL'], OBSERVATIONS),
    read([named], ['AUTHENTICATION_LOG_ALL'], OBSERVATIONS),
    clientPositions(db, scope, mac, range, OBSERVATIONS),
  ]);
  const macs = [...macsOf(summary), ...positions.flatMap(({ apMac }) => apMac ?? [])];
  const names = await namesOf(db, scope, macs, [...did.items, ...sessions.items]);
  const inRange = rangeOf(written);
  const panels = [
    seenPanel(summary, CLIENT, written),
    seenWithPanel('Users', summary.users, (name) => html`<a href=${userAddress(name, inRange)}>${name}</a>`),
    seenWithPanel('Access points', summary.accessPoints, (ap) => accessPointName(ap, names)),
    seenWithPanel('SSIDs', summary.ssids, (name) => name),
  ];
  const seenAt = [...sessions.items, ...logins.items].map((event) => ({
    occurredAt: new Date(event.occurredAt),
    apMac: viewEvent(event).apMac,
  }));
  const sightings = [...strongestOfEachTime(positions), ...seenAt];
  const stays = staysOf(sightings.filter(({ apMac }) => apMac !== null));
  const content = html`
    ${timelineForm(CLIENT, 'mac', asked)}
    <div class="panels">${panels}</div>
    ${sessionBars(sessions.items, range, ({ ssid, user }) => [user, ssid].filter(Boolean).join(' on ') || 'session')}
    ${stays.length > 0 && [roamingBars(stays, range, names), staysTable(stays, names)]}
    ${eventsOf('Activity', CLIENT, written, did, printSearch([named, exactTerm('type', ...(type ?? CLIENT_DOES))]))}
    ${affectedOf(affected.items, written, [printSearch([named, exactTerm('type', 'GDPR_LOG_ALL')])])}
  `;
  return { title: `Client ${mac}`, content };
}

/** Reads events of a range: those of some types that meet the terms. */
const eventsReader =
  (db: Db, scope: Scope, range: Pick<EventFilter, 'since' | 'until'>) =>
  (
    terms: readonly SearchTerm[],
    messageTypes: readonly MessageType[],
    limit: number,
    after?: EventPage['after'],
  ) =>
    readEvents(
      db,
      scope,
      { ...range, terms: [...terms, exactTerm('type', ...messageTypes)] },
      { limit, after },
    );

const macsOf = ({ accessPoints }: UserSummary | ClientSummary) => accessPoints.map(({ name: mac }) => mac);

/** The names of access points by MAC address: those in the inventory at the time of these events, else those in records. */
async function namesOf(
  db: Db,
  scope: Scope,
  macs: readonly string[],
  events: readonly StoredEvent[],
): Promise<ReadonlyMap<string, string>> {
  const inRecords = await accessPointNames(db, scope, macs);
  const inInventory = events.toReversed().flatMap((event): [string, string][] => {
    const { apMac } = viewEvent(event);
    const name = event.names?.accessPoint ?? null;
    return apMac === null || name === null ? [] : [[apMac, name]];
  });
  return new Map([...inRecords, ...inInventory]);
}

const inUsualRange = (written: Written) => withBeginning(written, USUAL_DAYS);

const rangeOf = (written: Written) => ({
  since: textOf(written, 'since'),
  until: textOf(written, 'until'),
});

/** `parameter` names the user or client of the page. */
const timelineForm = (path: string, parameter: 'name' | 'mac', entered: Entered): Content => html`
  <form class="filters" method="get" action=${path} aria-label="Range and types">
    <input type="hidden" name=${parameter} value=${entered.written[parameter]} />
    ${rangePicker(path, entered)} ${typeSelect(entered, MESSAGE_TYPES)}
    <button>Show</button>
  </form>
`;

/** A page of the events that a search finds, newest first, and a link to search them. */
export function eventsOf(
  title: string,
  path: string,
  written: Written,
  page: PageOf<StoredEvent>,
  q: string,
  empty = 'No events in this range. Choose a longer range or all types.',
): Content {
  return html`
    <div class="row apart">
      <h2>${title}</h2>
      <a href=${searchAddress({ ...rangeOf(written), q })}>Search these events</a>
    </div>
    ${
      page.items.length === 0
        ? html`<p class="empty">${empty}</p>`
        : [eventTimeline(`${title}, newest first`, page.items), pagerOf(path, written, page.next_cursor)]
    }
  `;
}

/** What others did to a person or client, newest first, and links to all of it. */
function affectedOf(events: readonly StoredEvent[], written: Written, searches: readonly string[]): Content {
  return html`
    <h2>Affected by</h2>
    ${
      events.length === 0
        ? html`<p class="dim">No events in this range.</p>`
        : html`
            ${eventTimeline('Affected by, newest first', events)}
            <p>
              Search${' '}
              ${searches.map((q, index) => html`${index > 0 && ' or '}<a href=${searchAddress({ ...rangeOf(written), q })}><code>${q}</code></a>`)}.
            </p>
          `
    }
  `;
}

/** First and last seen in a range, and the number of events of each type; a type links to its events. */
function seenPanel(
  { firstSeen, lastSeen, countsByType, isComplete }: UserSummary | ClientSummary,
  path: string,
  query: Query,
): Content {
  return panelOf(
    'Seen in this range',
    html`
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
              html`<a title=${type} href=${addressOf(path, { ...query, type, cursor: undefined })}
                >${TYPE_TITLES[type]}</a
              >`,
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
    `,
  );
}

/** The users, clients, access points or SSIDs seen together with a user or client. */
function seenWithPanel(title: string, seen: readonly SeenWith[], nameOf: (name: string) => Content): Content {
  if (seen.length === 0) return panelOf(title, html`<p class="dim">None in this range.</p>`);
  const lines = seen.map(
    ({ name, count, lastSeen }) => html`
      <li>
        <span>${nameOf(name)}</span>
        <span class="dim">${formatCount(count)}, last ${timeOf(lastSeen)}</span>
      </li>
    `,
  );
  return panelOf(
    title,
    html`<ul class="lines seen" tabindex="0" aria-label=${title}>
      ${lines}
    </ul>`,
  );
}
