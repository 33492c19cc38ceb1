import type { Request } from 'express';
import { z } from 'zod';
import type { SourceChanges } from '../../sources/change-sources.ts';
import { limitsOf, type SourceLine } from '../../sources/describe-sources.ts';
import { recentArrivals } from '../../store/counts/read-arrivals.ts';
import { countOpenBySource } from '../../store/quarantine/search-quarantine.ts';
import type { Db } from '../../store/server/database.ts';
import { formatCount } from '../../lib/text/units.ts';
import { CHANGE_SOURCES, hasAccess, type Visitor } from '../access/access.ts';
import { addressOf, searchAddress } from '../addresses.ts';
import { NOTHING_ENTERED, only, queryOf, readQuery, text, type Written } from '../api/parameters.ts';
import { factsOf } from '../browser/shared/facts.ts';
import { tableOf, type Column } from '../browser/shared/table.ts';
import { agoOf, badge, sheetOf, timeOf } from '../html/elements.ts';
import { actionButton, fieldOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { sparkline } from '../html/sparkline.ts';
import { loadParts } from '../page-parts.ts';

const HOURS = 24;

const query = z.object({
  q: text.optional(),
  order: z.enum(['name', 'last', 'events', 'open']).default('name'),
});

type Order = z.output<typeof query>['order'];

type ShownSource = SourceLine & {
  readonly lastReceivedAt: Date | null;
  /** In each of the last hours; undefined while the database does not say. */
  readonly events: readonly number[] | undefined;
  readonly open: number;
};

/** The sources with what they sent, a line each, which directory.ts filters as one types. */
export async function renderSources(
  db: Db,
  changes: SourceChanges,
  request: Request,
  visitor: Visitor,
): Promise<Page> {
  const written = only(queryOf(request), ['q', 'order']);
  const asked = readQuery(query, written);
  const { values } = asked;
  const { scope } = visitor;
  const { read, problems } = loadParts();
  const [sources, arrivals, open] = await Promise.all([
    changes.list(scope),
    read('arrivals', () => recentArrivals(db, scope, HOURS)),
    read('quarantine', () => countOpenBySource(db, scope)),
  ]);
  const none = arrivals === null ? undefined : Array.from({ length: HOURS }, () => 0);
  const begun = (values.q ?? '').trim().toLowerCase();
  const shown = sources
    .filter(({ name }) => name.toLowerCase().includes(begun))
    .map((source): ShownSource => {
      const { lastReceivedAt = null, events = none } = arrivals?.get(source.name) ?? {};
      return { ...source, lastReceivedAt, events, open: open?.get(source.name) ?? 0 };
    })
    .toSorted((one, other) => RANKS[values.order](one, other) || (one.name < other.name ? -1 : 1));
  const mayChange = hasAccess(visitor, CHANGE_SOURCES);
  return {
    title: 'Sources',
    modules: ['pages/sources.ts', 'pages/directory.ts'],
    content: html`
      <p>
        Cloud accounts that send deliveries. All processes with this database accept a new source within a
        second. Change sources from the settings there.
      </p>
      <form class="filters" action="/sources" role="search" aria-label="Sources" data-filters>
        ${fieldOf(asked, 'q', 'Part of the name')}
        <input type="hidden" name="order" value=${values.order} />
        <button>Search</button>
      </form>
      ${problems.map(({ part, why }) => html`<p class="note warn">No figures for ${part}: ${why}</p>`)}
      <div class="shown" role="status"></div>
      <div data-directory>
        ${tableOf(
          'Sources',
          columnsOf(written, values.order, mayChange),
          shown,
          `No source${begun === '' ? '' : ` has “${begun}” in its name`}.`,
          'sources',
        )}
      </div>
      ${mayChange && ADD}
    `,
  };
}

const sumOf = ({ events = [] }: ShownSource) => events.reduce((sum, count) => sum + count, 0);

const RANKS: Readonly<Record<Order, (one: ShownSource, other: ShownSource) => number>> = {
  name: () => 0,
  last: (one, other) => Number(other.lastReceivedAt) - Number(one.lastReceivedAt),
  events: (one, other) => sumOf(other) - sumOf(one),
  open: (one, other) => other.open - one.open,
};

const STATES = { 'in use': undefined, disabled: 'plain', conflict: 'bad' } as const;

function columnsOf(written: Written, order: Order, mayChange: boolean): readonly Column<ShownSource>[] {
  const sort = (by: Order) => ({
    href: addressOf('/sources', { ...written, order: by }),
    order: by !== order ? undefined : by === 'name' ? ('ascending' as const) : ('descending' as const),
  });
  return [
    {
      heading: 'Name',
      isPlain: true,
      sort: sort('name'),
      cell: ({ name, state }) => {
        const kind = STATES[state];
        return html`<a href=${searchAddress({ source: name })}>${name}</a> ${kind && badge(kind, state)}`;
      },
    },
    { heading: 'Last delivery', sort: sort('last'), cell: ({ lastReceivedAt: at }) => agoOf(at) },
    {
      heading: '24 hours',
      kind: 'days',
      cell: ({ events }) => events && sparkline(events, `${HOURS} hours`),
    },
    {
      heading: 'Events',
      kind: 'number',
      sort: sort('events'),
      cell: (source) => numberOf(sumOf(source), searchAddress({ source: source.name, since: `${HOURS}h` })),
    },
    {
      heading: 'In quarantine',
      kind: 'number',
      sort: sort('open'),
      cell: ({ name, open }) => numberOf(open, addressOf('/quarantine', { source: name })),
    },
    { heading: 'Details', cell: (source) => detailsOf(source, mayChange) },
  ];
}

const numberOf = (count: number, href: string): Content =>
  count === 0 ? html`<span class="dim">0</span>` : html`<a href=${href}>${formatCount(count)}</a>`;

/** How a source is defined, and what can be changed of it. */
function detailsOf(source: SourceLine, mayChange: boolean): Content {
  const { name, origin, api_url: url, message_types: types } = source;
  return sheetOf(`source-${name}`, 'Details', name, [
    factsOf([
      ['defined in', origin],
      ['secrets', secretsOf(source)],
      ['API', url],
      ['message types', types?.join(', ') ?? 'default'],
      ['limits', limitsOf(source) || null],
    ]),
    mayChange && changesOf(source),
  ]);
}

function secretsOf({ secrets, old_secrets_until: until }: SourceLine): Content {
  if (secrets < 2) return String(secrets);
  return html`${secrets} ${until === null ? '' : html`<span class="dim">(old until ${timeOf(until)})</span>`}`;
}

function changesOf({ name, origin, state, secrets }: SourceLine): Content {
  if (origin === 'settings' || state === 'disabled') return undefined;
  const path = `/sources/${name}`;
  return html`
    <div class="row">
      ${actionButton(`${path}/rotate`, 'Rotate', {
        name: `Rotate the secret of ${name}`,
        kind: 'quiet',
        secret: 'secret',
        confirm: `Add a new secret to ${name}? The old one is accepted until you drop it.`,
      })}
      ${
        secrets > 1 &&
        actionButton(`${path}/drop-old`, 'Drop old', {
          name: `Drop the old secrets of ${name}`,
          kind: 'quiet',
          confirm: `Drop the old secrets of ${name}? Deliveries that use them are refused.`,
          done: `The old secrets of ${name} were dropped.`,
        })
      }
      ${actionButton(`${path}/disable`, 'Disable', {
        name: `Disable ${name}`,
        kind: 'danger',
        confirm: `Disable ${name}? Its deliveries are refused; its events stay.`,
        done: `${name} is disabled.`,
      })}
    </div>
  `;
}

const ADD = html`
  <section class="panel">
    <h2>Add a source</h2>
    <form class="filters" data-action="/sources" data-secret="secret">
      ${fieldOf(NOTHING_ENTERED, 'name', 'Name', 'customer-a')}
      ${fieldOf(NOTHING_ENTERED, 'api_url', 'Cloud API address (optional)', 'https://…')}
      ${fieldOf(NOTHING_ENTERED, 'api_token', 'API token (optional)', '')}
      ${fieldOf(NOTHING_ENTERED, 'deliveries_per_second', 'Deliveries/s (optional)', '')}
      ${fieldOf(NOTHING_ENTERED, 'bytes_per_second', 'Bytes/s (optional)', '')}
      <div class="row"><button>Add</button></div>
    </form>
    <p class="dim">Its webhook secret is generated and shown once.</p>
  </section>
`;
