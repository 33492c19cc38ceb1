import { parseCookie } from 'cookie';
import type { Request } from 'express';
import { sentenceOfEvent, titleOfEvent, TYPE_TITLES, accessPointIn } from '../../events/event-words.ts';
import { outcomeOf, recordKind } from '../../events/record-kind.ts';
import type { SearchKey } from '../../events/search-query.ts';
import { viewEvent, type StoredEvent } from '../../events/stored-event.ts';
import { listSourcesAfter } from '../../store/reconcile/coverage.ts';
import { withNames } from '../../store/reconcile/inventory.ts';
import type { Db } from '../../store/server/database.ts';
import type { Scope } from '../../store/server/scope.ts';
import { addressOf, eventAddress, searchAddress } from '../addresses.ts';
import { queryOf, textOf, type Written } from '../api/parameters.ts';
import { html, renderToString, withSource, type Content } from '../html/html.ts';
import { localText, zoneWord } from '../browser/shared/local-time.ts';
import { clockOf, timeOf } from '../html/elements.ts';
import { inZone, withZone, zoneOf } from '../html/time-zone.ts';
import { joinSearchLine, searchWith } from './search-line.ts';

interface ListColumn {
  readonly heading: string;
  readonly cell: (event: StoredEvent, written: Written, columns: readonly string[]) => Content;
}

/** Columns that a phone shows, too, have styles of their own. */
const COLUMNS = {
  title: { heading: 'What happened', cell: titleCell },
  person: { heading: 'Who', cell: personCell },
  details: { heading: 'Details', cell: detailsCell },
  source: { heading: 'Source', cell: ({ source }) => html`<td class="source">${source}</td>` },
  type: plainColumn('Type', (event) => TYPE_TITLES[event.messageType]),
  user: filterColumn('User', 'user', (event) => viewEvent(event).user),
  client: filterColumn('Client', 'client', (event) => viewEvent(event).clientMac),
  ap: filterColumn('Access point', 'ap', (event) => viewEvent(event).apMac, accessPointIn),
  ssid: filterColumn('SSID', 'ssid', (event) => textIn(event, 'ssid')),
  device: filterColumn('Device', 'device', (event) =>
    textIn(event, 'host_names', 'device_serial_number', 'alert_source_name'),
  ),
  code: filterColumn('Code', 'code', (event) => viewEvent(event).code),
  outcome: plainColumn('Outcome', (event) => outcomeOf(recordKind(event), event)),
  origin: plainColumn('Origin', ({ origin }) => origin),
  received: plainColumn('Received', ({ receivedAt }) => timeOf(receivedAt)),
} as const satisfies Readonly<Record<string, ListColumn>>;

type ColumnName = keyof typeof COLUMNS;

const isColumn = (name: string): name is ColumnName => name in COLUMNS;

/** The cookie with the columns that a reader chose; columns.ts writes it. */
const COLUMNS_COOKIE = 'xiq_event_columns';

const USUAL_COLUMNS: readonly ColumnName[] = ['title', 'person', 'details'];

/** The columns that a reader chose; else the usual ones, with the source if the reader sees several. */
export async function columnsOf(db: Db, scope: Scope, { headers }: Request): Promise<readonly ColumnName[]> {
  const { [COLUMNS_COOKIE]: written = '' } = parseCookie(headers.cookie ?? '');
  const chosen = written.split('.').filter(isColumn);
  if (chosen.length > 0) return [...new Set(chosen)];
  const [, second] = await listSourcesAfter(db, scope, '', 2);
  return second === undefined ? USUAL_COLUMNS : [...USUAL_COLUMNS, 'source'];
}

/** The choice of columns, which columns.ts keeps. Without any, the list has the usual ones. */
export const columnChoice = (chosen: readonly ColumnName[]): Content => html`
  <details class="picker columns">
    <summary class="button quiet">Columns</summary>
    <form class="panel" data-columns=${COLUMNS_COOKIE}>
      ${Object.entries(COLUMNS).map(
        ([name, { heading }]) => html`
          <label>
            <input
              type="checkbox"
              name="column"
              value=${name}
              checked=${chosen.some((one) => one === name)}
            />
            ${heading}
          </label>
        `,
      )}
      <button>Apply</button>
    </form>
  </details>
`;

/** Events by day in lines of one height, each with a link to its page; on a phone as cards of two lines. */
export function eventList(events: readonly StoredEvent[], written: Written, columns: readonly ColumnName[]) {
  const isOldest = written['order'] === 'oldest';
  const turned = { ...written, order: isOldest ? undefined : 'oldest', cursor: undefined };
  return html`
    <div class="list">
      <table class="events">
        <caption class="visually-hidden">
          Events, ${isOldest ? 'oldest' : 'newest'} first, ${inZone(zoneWord)} time
        </caption>
        <thead>
          <tr>
            <th scope="col" class="time" aria-sort=${isOldest ? 'ascending' : 'descending'}>
              <a
                href=${addressOf('/events', turned)}
                title=${isOldest ? 'Show newest first' : 'Show oldest first'}
                ><span class="first-day">${events[0] ? inZone(dayOf(events[0])) : 'Time'}</span>${' '}
                <span aria-hidden="true">${isOldest ? '↑' : '↓'}</span></a
              >
            </th>
            ${columns.map(
              (name, index) => html`
                <th scope="col" class=${name}>
                  ${COLUMNS[name].heading}
                  ${index === columns.length - 1 && html`<span class="zone" aria-hidden="true">${inZone(zoneWord)} time</span>`}
                </th>
              `,
            )}
          </tr>
        </thead>
        <tbody>
          ${events.map((event, index) => [
            separatorBetween(events[index - 1], event, columns.length + 1),
            rowOf(event, written, columns),
          ])}
        </tbody>
      </table>
    </div>
  `;
}

const dayOf =
  ({ occurredAt }: StoredEvent) =>
  (zone: string) =>
    localText(occurredAt, zone).slice(0, 10);

/** The heading of the list names its first day, a line each further one. browser/events/live.ts does the same. */
const separatorBetween = (before: StoredEvent | undefined, event: StoredEvent, width: number): Content =>
  before !== undefined &&
  inZone((zone) => {
    const day = dayOf(event)(zone);
    return (
      day !== dayOf(before)(zone) &&
      html`<tr class="day" data-day=${day}>
        <th colspan=${width} scope="rowgroup">${day}</th>
      </tr>`
    );
  });

const rowOf = (event: StoredEvent, written: Written, columns: readonly ColumnName[]) =>
  inZone(
    (zone) => html`
      <tr data-day=${dayOf(event)(zone)}>
        <td class="time"><a href=${eventAddress(event)}>${clockOf(event.occurredAt)}</a></td>
        ${columns.map((name) => COLUMNS[name].cell(event, written, columns))}
      </tr>
    `,
  );

/** Draws events as rows, in HTML, of the list that a request finds at an address of the console. */
export function rowDrawer(db: Db, scope: Scope, request: Request, address: string) {
  const written = joinSearchLine(queryOf({ url: address }));
  const zone = zoneOf(request);
  return async (events: readonly StoredEvent[]): Promise<readonly string[]> => {
    const [named, columns] = await Promise.all([withNames(db, scope, events), columnsOf(db, scope, request)]);
    return named.map((event) =>
      withSource(renderToString(withZone(zone, rowOf(event, written, columns))), textOf(written, 'source')),
    );
  };
}

function titleCell(event: StoredEvent): Content {
  return html`
    <td class="title" title=${event.messageType}>
      <span class=${`swatch ${event.family}`}></span>${titleOfEvent(event)}
    </td>
  `;
}

const subjectOf = (event: StoredEvent) => viewEvent(event).user ?? viewEvent(event).clientMac;

function personCell(event: StoredEvent, written: Written): Content {
  const key = viewEvent(event).user === null ? 'client' : 'user';
  return linkCell('person', written, key, subjectOf(event));
}

/** Longer sentences are shown in full on the page of the event. */
const LONGEST = 300;

/** A sentence that begins with the person or with what happened does so only where there is no room for a column of that. */
function detailsCell(event: StoredEvent, _written: Written, columns: readonly string[]): Content {
  const sentence = sentenceOfEvent(event).slice(0, LONGEST);
  const said = { person: subjectOf(event) ?? '', title: titleOfEvent(event) };
  const beginning = Object.entries(said)
    .map(([column, words]) => (columns.includes(column) ? `${words} ` : ''))
    .find((words) => words !== '' && sentence.startsWith(words));
  return html`
    <td class="details" title=${sentence}>
      ${beginning && html`<span class="subject">${beginning}</span>`}${sentence.slice(beginning?.length ?? 0)}
    </td>
  `;
}

function plainColumn(heading: string, contentOf: (event: StoredEvent) => Content): ListColumn {
  return { heading, cell: (event) => html`<td class="more">${contentOf(event)}</td>` };
}

/** A column of values that can be filtered for, by their names if they have one. */
function filterColumn(
  heading: string,
  key: SearchKey,
  valueOf: (event: StoredEvent) => string | null,
  nameOf?: (event: StoredEvent) => string | undefined,
): ListColumn {
  return {
    heading,
    cell: (event, written) => linkCell('more', written, key, valueOf(event), nameOf?.(event)),
  };
}

/** A value, by its name if it has one, and a link to the events with it. */
const linkCell = (
  kind: string,
  written: Written,
  key: SearchKey,
  value: string | null,
  name: string | null = value,
): Content => html`
  <td class=${kind} title=${name === value ? value : `${name}, ${value}`}>
    ${
      value === null
        ? html`<span class="dim">–</span>`
        : html`<span>${name}</span>
            <a
              class="only"
              href=${searchAddress(searchWith(written, key, value))}
              title=${`Only ${name}`}
              aria-label=${`Only ${name}`}
              >+</a
            >`
    }
  </td>
`;

/** The text of the first of these typed columns that has one; of a list, its first text. */
const textIn = ({ columns }: StoredEvent, ...names: readonly string[]): string | null =>
  names.map((name) => [columns[name] ?? []].flat()[0]).find((value) => value !== undefined) ?? null;
