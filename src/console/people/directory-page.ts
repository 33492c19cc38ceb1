import type { Request } from 'express';
import { exactTerm, printSearch, type SearchTerm } from '../../events/search-query.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { capitalized } from '../../lib/text/capitalized.ts';
import { countOf as counted, formatCount } from '../../lib/text/units.ts';
import type { Db } from '../../store/server/database.ts';
import { countSilent, directorySince } from '../../store/counts/read-directory.ts';
import type { SeenKind } from '../../store/server/schema/count-tables.ts';
import { CHANGE_OUTPUTS, hasAccess, type Visitor } from '../access/access.ts';
import { ruleAddress } from '../alerts/rule-form.ts';
import { accessPointAddress, addressOf, clientAddress, searchAddress, userAddress } from '../addresses.ts';
import { only, queryOf, readQuery, textOf, type Written } from '../api/parameters.ts';
import { numberColumn, tableOf, type Column } from '../browser/shared/table.ts';
import { agoOf, badge, pagerOf } from '../html/elements.ts';
import { fieldOf, selectOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { sparkline } from '../html/sparkline.ts';
import {
  directoryQuery,
  KINDS_IN,
  readDirectory,
  type Directory,
  type DirectoryName,
} from './directory-schemas.ts';

type Entry = Directory['items'][number];

/** An access point that no event has named for so long is silent: an occupied one reports every few minutes. */
const SILENT_MS = HOUR_MS;

/** How long ago a person or device was seen. An access point that is not seen for a month counts as removed. */
export function lastSeenOf(kind: SeenKind, at: Date): Content {
  const now = new Date();
  const isSilent = now.getTime() - at.getTime() > SILENT_MS && at >= directorySince(now);
  return html`${kind === 'access point' && isSilent && badge('warn', 'silent')} ${agoOf(at)}`;
}

/** The directory of people or of devices, which directory.ts filters as one types. */
export async function renderDirectory(
  db: Db,
  visitor: Visitor,
  request: Request,
  name: DirectoryName,
): Promise<Page> {
  const { scope } = visitor;
  const written = only(queryOf(request), ['q', 'kind', 'order', 'silent', 'cursor']);
  const asked = readQuery(directoryQuery(name), written);
  const { values, right } = asked;
  const label = name === 'people' ? 'Name' : 'MAC address or host name';
  const kinds = KINDS_IN[name].map((kind) => [kind, `${kind}s`] as const);
  const title = capitalized(name);
  return {
    title,
    modules: ['pages/directory.ts'],
    content: html`
      <form class="filters" action=${`/${name}`} role="search" aria-label=${title} data-filters>
        ${fieldOf(asked, 'q', label, 'starts with')}
        ${selectOf(asked, 'kind', 'Kind', [['', 'all'], ...kinds])}
        <input type="hidden" name="order" value=${textOf(written, 'order') ?? ''} />
        <input type="hidden" name="silent" value=${textOf(written, 'silent') ?? ''} />
        <button>Search</button>
        ${name === 'devices' && (await silenceLinks(db, visitor, written))}
      </form>
      <div data-directory>${listOf(name, right, await readDirectory(db, scope, name, values))}</div>
    `,
  };
}

/** Lead to the access points that are silent, and from there to the alert about further ones, and back. */
async function silenceLinks(db: Db, visitor: Visitor, written: Written): Promise<Content> {
  if (written['silent'] !== undefined)
    return html`
      ${
        hasAccess(visitor, CHANGE_OUTPUTS) &&
        html`<a class="button quiet" href=${ruleAddress('access-point-silent')}>Alert me</a>`
      }
      <a class="button quiet" href="/devices">All devices</a>
    `;
  const count = await countSilent(db, visitor.scope, new Date(Date.now() - SILENT_MS));
  return (
    count > 0 &&
    html`<a class="button quiet" href=${addressOf('/devices', { silent: '1h' })}
      >${badge('warn', `${counted(count, 'access point')} silent`)} for over an hour</a
    >`
  );
}

/** The entries, with links to sort them and to the next page. */
function listOf(
  name: DirectoryName,
  written: Written,
  { since, items, next_cursor: next }: Directory,
): Content {
  if (items.length === 0) return nothing(name, written);
  const order = written['order'] ?? 'seen';
  const sortBy = (order: string) => addressOf(`/${name}`, { ...written, order, cursor: undefined });
  const number = (heading: string, of: (entry: Entry) => number, ...actions: readonly string[]) =>
    numberColumn(heading, (entry: Entry) => countOf(entry, of(entry), since, actions));
  const columns: readonly Column<Entry>[] = [
    {
      heading: 'Name',
      kind: 'wrap',
      isPlain: true,
      sort: { href: sortBy('name'), order: order === 'name' ? 'ascending' : undefined },
      cell: nameOf,
    },
    { heading: 'Kind', cell: ({ kind }) => kind },
    {
      heading: 'Last seen',
      sort: {
        href: sortBy(order === 'seen' ? 'silent' : 'seen'),
        order: order === 'seen' ? 'descending' : order === 'silent' ? 'ascending' : undefined,
      },
      cell: ({ kind, last_seen: at }) => lastSeenOf(kind, at),
    },
    { heading: '30 days', kind: 'days', isPlain: true, cell: ({ days }) => sparkline(days, '30 days') },
    number('Events', ({ events }) => events),
    ...(name === 'people'
      ? [
          number('Logins', ({ logins }) => logins, 'login', 'network-login'),
          number('Changes', ({ changes }) => changes, 'configuration-changed'),
          number('Keys', ({ keys }) => keys, 'private-key-created', 'private-key-deleted'),
        ]
      : []),
  ];
  return [
    tableOf(
      `${capitalized(name)}, ${order === 'name' ? 'by name' : `last seen ${order === 'seen' ? 'first' : 'last'}`}`,
      columns,
      items,
      undefined,
      'directory',
    ),
    pagerOf(`/${name}`, written, next, ['First page', 'Next page']),
  ];
}

const ADDRESS_OF: Readonly<Record<SeenKind, (entry: Entry) => string>> = {
  administrator: ({ name }) => userAddress(name),
  user: ({ name }) => userAddress(name),
  client: ({ key }) => clientAddress(key),
  'access point': ({ key }) => accessPointAddress(key),
};

function nameOf(entry: Entry): Content {
  const { kind, key, name } = entry;
  const isAddress = name === key && (kind === 'client' || kind === 'access point');
  return html`
    <a href=${ADDRESS_OF[kind](entry)} class=${isAddress ? 'mono' : undefined}>${name}</a>
    ${kind === 'access point' && name !== key && html` <span class="dim mono">${key}</span>`}
  `;
}

const EVENTS_OF: Readonly<Record<SeenKind, (entry: Entry) => readonly SearchTerm[]>> = {
  administrator: ({ name }) => [exactTerm('user', name), exactTerm('type', 'AUDIT_LOG_ALL', 'GDPR_LOG_ALL')],
  user: ({ name }) => [
    exactTerm('user', name),
    exactTerm('type', 'AUTHENTICATION_LOG_ALL', 'ACCOUNTING_LOG_ALL', 'CREDENTIAL_LOG_ALL'),
  ],
  client: ({ key }) => [exactTerm('client', key), { ...exactTerm('type', 'GDPR_LOG_ALL'), isExcluded: true }],
  'access point': ({ key }) => [exactTerm('ap', key)],
};

/** A number that leads to its events. A phone does not show zeros. */
function countOf(entry: Entry, count: number, since: Date, actions: readonly string[]): Content {
  if (count === 0) return html`<span class="dim">–</span>`;
  const terms = [
    ...EVENTS_OF[entry.kind](entry),
    ...(actions.length > 0 ? [exactTerm('action', ...actions)] : []),
  ];
  return html`<a href=${searchAddress({ since: since.toISOString(), q: printSearch(terms) })}
    >${formatCount(count)}</a
  >`;
}

function nothing(name: DirectoryName, written: Written): Content {
  const q = textOf(written, 'q');
  if (written['silent'] !== undefined) return html`<p class="empty">No access points are silent.</p>`;
  if (q === undefined) {
    return html`<p class="empty">No ${name} yet. They appear here a few seconds after their first event.</p>`;
  }
  return html`
    <p class="empty">
      No ${name} whose ${name === 'people' ? 'name begins' : 'MAC address or host name begins'} with${' '}
      “${q}”. Shorten the text, or${' '}
      <a href=${searchAddress({ q: printSearch([exactTerm('text', q)]) })}>search the events for it</a>.
    </p>
  `;
}
