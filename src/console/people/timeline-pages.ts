import type { Request } from 'express';
import { MESSAGE_TYPES } from '../../domain.ts';
import { accessPointNames } from '../../store/access-point-names.ts';
import type { Db } from '../../store/database.ts';
import type { StoredEvent } from '../../store/read-events.ts';
import { summarizeClient, summarizeUser } from '../../store/timeline.ts';
import type { ClientSummary, SeenWith, UserSummary } from '../../store/timeline.ts';
import { addressOf, clientAddress, eventAddress, searchAddress, userAddress } from '../addresses.ts';
import type { Query } from '../addresses.ts';
import { queryOf, readQuery, textOf, withBeginning } from '../api/query.ts';
import type { Problems, Written } from '../api/query.ts';
import { readEvents } from '../events/conditions.ts';
import type { PageOfEvents } from '../events/conditions.ts';
import { GENERAL_COLUMNS } from '../events/event-table.ts';
import { pagingLinks } from '../events/paging-links.ts';
import { rangeFields, rangeLinks } from '../html/form.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { numberOf } from '../html/number.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { timeOf } from '../html/values.ts';
import { clientQuery, userQuery, USUAL_DAYS, wholeRange } from './people-schemas.ts';
import { accessPointName, readPlaces, whereaboutsOf } from './whereabouts.ts';

const USER_PATH = '/people/user';

/** A user: with what and where he was seen, and what he did, newest first. */
export async function renderUser(db: Db, request: Request): Promise<Page> {
  const written = withBeginning(queryOf(request), USUAL_DAYS);
  const { asked, problems } = readQuery(userQuery, written);
  const title = `User ${textOf(written, 'name') ?? ''}`;
  if (problems !== undefined) {
    return { title, content: timelineForm(USER_PATH, 'name', written, problems) };
  }
  const { name, type, cursor } = asked;
  const range = wholeRange(asked);
  const [summary, page] = await Promise.all([
    summarizeUser(db, name, range.since, range.until),
    readEvents(
      db,
      { user: name, messageTypes: type, since: asked.since, until: asked.until },
      { limit: EVENTS_A_PAGE, after: cursor },
    ),
  ]);
  const names = await accessPointNames(
    db,
    summary.accessPoints.map(({ name: mac }) => mac),
  );
  const inRange = { since: textOf(written, 'since'), until: textOf(written, 'until') };
  return {
    title,
    content: [
      timelineForm(USER_PATH, 'name', written, new Map()),
      html`
        <div class="panels">
          ${seenPanel(summary, USER_PATH, written)}
          ${seenWithPanel(
            'Devices',
            summary.devices,
            (mac) => html`<a class="mono" href=${clientAddress(mac, inRange)}>${mac}</a>`,
          )}
          ${seenWithPanel('Access points', summary.accessPoints, (mac) => accessPointName(mac, names))}
        </div>
        <h2>Timeline</h2>
        <p><a href=${searchAddress({ ...inRange, user: name })}>The same as a search</a>, to export it.</p>
      `,
      timelineOf(USER_PATH, written, page),
    ],
  };
}

const CLIENT_PATH = '/people/client';
const EVENTS_A_PAGE = 50;

/** More dots than these are no map any more. */
const OBSERVATIONS = 500;

/** A client: with whom it was seen, where it was, and what happened with it, newest first. */
export async function renderClient(db: Db, request: Request): Promise<Page> {
  const written = withBeginning(queryOf(request), USUAL_DAYS);
  const { asked, problems } = readQuery(clientQuery, written);
  if (problems !== undefined) return refuse(written, problems);
  const { mac, type, cursor } = asked;
  const range = wholeRange(asked);
  const [summary, page, places] = await Promise.all([
    summarizeClient(db, mac, range.since, range.until),
    readEvents(
      db,
      { mac, messageTypes: type, since: asked.since, until: asked.until },
      { limit: EVENTS_A_PAGE, after: cursor },
    ),
    readPlaces(db, mac, range, OBSERVATIONS),
  ]);
  const names = await accessPointNames(
    db,
    summary.accessPoints.map(({ name }) => name),
  );
  const inRange = { since: textOf(written, 'since'), until: textOf(written, 'until') };
  return {
    title: `Client ${mac}`,
    content: [
      timelineForm(CLIENT_PATH, 'mac', written, new Map()),
      html`
        <div class="panels four">${panels(summary, names, written)}</div>
        <h2>Where it was</h2>
        ${whereaboutsOf(mac, places, OBSERVATIONS)}
        <h2>Timeline</h2>
        <p><a href=${searchAddress({ ...inRange, mac })}>The same as a search</a>, to export it.</p>
      `,
      timelineOf(CLIENT_PATH, written, page),
    ],
  };
}

function panels(
  summary: ClientSummary,
  names: ReadonlyMap<string, string>,
  written: Written,
): readonly Content[] {
  const inRange = { since: textOf(written, 'since'), until: textOf(written, 'until') };
  return [
    seenPanel(summary, CLIENT_PATH, written),
    seenWithPanel('Users', summary.users, (name) => html`<a href=${userAddress(name, inRange)}>${name}</a>`),
    seenWithPanel('Access points', summary.accessPoints, (mac) => accessPointName(mac, names)),
    seenWithPanel('SSIDs', summary.ssids, (name) => name),
  ];
}

function refuse(written: Written, problems: ReadonlyMap<string, string>): Page {
  const problem = problems.get('mac');
  return {
    title: `Client ${textOf(written, 'mac') ?? ''}`,
    content:
      problem === undefined
        ? timelineForm(CLIENT_PATH, 'mac', written, problems)
        : html`<p class="note bad">The MAC address ${problem}. <a href="/people">Look for a device</a></p>`,
  };
}

/** The form above a timeline: its range and its types. `subject` is the parameter that says whose it is. */
export function timelineForm(path: string, subject: string, written: Written, problems: Problems): Content {
  const types = new Set([written['type'] ?? []].flat());
  return html`
    <form method="get" action=${path} aria-label="Range and types">
      <input type="hidden" name=${subject} value=${written[subject]} />
      <div class="fields">
        ${rangeFields(written, problems)}
        <div class="field">
          <label for="field-type">Type</label>
          <select id="field-type" name="type">
            <option value="">all</option>
            ${MESSAGE_TYPES.map(
              (type) => html`<option value=${type} selected=${types.has(type)}>${type}</option>`,
            )}
          </select>
          ${problems.has('type') && html`<p class="problem">Type ${problems.get('type')}.</p>`}
        </div>
        <div class="field"><button>Show</button></div>
      </div>
    </form>
    ${rangeLinks(path, written)}
  `;
}

const COLUMNS: readonly Column<StoredEvent>[] = [
  {
    heading: 'Time (UTC)',
    cell: (event) => html`
      <a href=${eventAddress(event)}>
        <time datetime=${event.occurredAt}>${event.occurredAt.slice(11, 19)}</time>
      </a>
    `,
  },
  ...GENERAL_COLUMNS,
];

/** Events by day, newest first. */
export function timelineOf(path: string, written: Written, page: PageOfEvents): Content {
  if (page.events.length === 0) {
    return html`<p class="empty">No events in this range: take a longer one, or all types.</p>`;
  }
  const byDay = Map.groupBy(page.events, ({ occurredAt }) => occurredAt.slice(0, 10));
  return [
    [...byDay].map(
      ([day, events]) => html`
        <section class="day">
          <h3>${day}</h3>
          ${tableOf(`Events of ${day}, newest first`, COLUMNS, events)}
        </section>
      `,
    ),
    pagingLinks(path, written, page),
  ];
}

/** When somebody was first and last seen in a range, and how often in which type of event; each type filters. */
export function seenPanel(
  { firstSeen, lastSeen, countsByType, isComplete }: UserSummary | ClientSummary,
  path: string,
  query: Query,
): Content {
  return html`
    <section class="panel">
      <h2>Seen in this range</h2>
      ${
        firstSeen === undefined || lastSeen === undefined
          ? html`<p class="dim">Never.</p>`
          : html`<p>First ${timeOf(firstSeen)}<br />Last ${timeOf(lastSeen)}</p>`
      }
      <dl class="facts">
        ${MESSAGE_TYPES.map((type) => {
          const count = countsByType[type];
          return (
            count !== undefined &&
            html`
              <dt><a href=${addressOf(path, { ...query, type, cursor: undefined })}>${type}</a></dt>
              <dd>${numberOf(count)}</dd>
            `
          );
        })}
      </dl>
      ${
        !isComplete &&
        html`<p class="note warn">A part took too long to count and is missing. A shorter range helps.</p>`
      }
    </section>
  `;
}

/** What was seen with a user or a client, with how often and when last. */
export function seenWithPanel(
  title: string,
  seen: readonly SeenWith[],
  nameOf: (name: string) => Content,
): Content {
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
                    <span class="dim">${numberOf(count)}, last ${timeOf(lastSeen)}</span>
                  </li>
                `,
              )}
            </ul>`
      }
    </section>
  `;
}
