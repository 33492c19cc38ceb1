import type { Request } from 'express';
import { z } from 'zod';
import type { SourceChanges } from '../../sources/change-sources.ts';
import type { SourceLine } from '../../sources/describe-sources.ts';
import { recentArrivals } from '../../store/counts/read-arrivals.ts';
import type { ComparedDay } from '../../store/reconcile/coverage.ts';
import { listGaps, type MissingPeriod } from '../../store/reconcile/gaps.ts';
import { countOpenBySource } from '../../store/quarantine/search-quarantine.ts';
import type { Db } from '../../store/server/database.ts';
import type { GapReason } from '../../store/server/schema/cloud-tables.ts';
import { countOf, formatCount } from '../../lib/text/units.ts';
import { CHANGE_SOURCES, hasAccess, type Visitor } from '../access/access.ts';
import { addressOf, searchAddress, sourceAddress } from '../addresses.ts';
import { only, queryOf, readQuery, text, type Written } from '../api/parameters.ts';
import { tableOf, type Column } from '../browser/shared/table.ts';
import { agoOf, badge } from '../html/elements.ts';
import { fieldOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { sparkline } from '../html/sparkline.ts';
import { loadParts } from '../page-parts.ts';
import { coverageCells, coverageLegend, hasLost } from './coverage-cells.ts';

const HOURS = 24;

const query = z.object({
  q: text.optional(),
  order: z.enum(['name', 'last', 'events', 'open']).default('open'),
  state: z.enum(['all', 'attention', 'waiting', 'disabled']).default('all'),
});

type Order = z.output<typeof query>['order'];
type State = z.output<typeof query>['state'];

type ShownSource = SourceLine & {
  readonly lastReceivedAt: Date | null;
  /** In each of the last hours; undefined while the database does not say. */
  readonly events: readonly number[] | undefined;
  readonly open: number;
  /** Undefined while they are read for the first time. */
  readonly days: readonly ComparedDay[] | undefined;
  /** Whether the database says which gaps are open. */
  readonly isKnown: boolean;
  readonly items: readonly OpenItem[];
};

/** Something of a source that needs a look, in a word and in a few. */
interface OpenItem {
  readonly kind: 'bad' | 'warn' | 'plain';
  readonly word: string;
  readonly text: Content;
  readonly href?: string;
}

interface SourcesParts {
  readonly db: Db;
  readonly changes: SourceChanges;
  /** Of all sources; a first answer takes seconds where there are hundreds. */
  readonly comparedDays: () => Promise<readonly ComparedDay[]>;
}

/** The page does not wait longer for the coverage; the next one has it. */
const COVERAGE_MS = 100;

/** The sources with what they sent, a line each, which directory.ts filters as one types. */
export async function renderSources(
  { db, changes, comparedDays }: SourcesParts,
  request: Request,
  visitor: Visitor,
): Promise<Page> {
  const written = only(queryOf(request), ['q', 'order', 'state']);
  const asked = readQuery(query, written);
  const { values } = asked;
  const { scope } = visitor;
  const { read, problems } = loadParts();
  const now = new Date();
  const [sources, arrivals, open, gaps, compared] = await Promise.all([
    changes.list(scope),
    read('arrivals', () => recentArrivals(db, scope, HOURS)),
    read('quarantine', () => countOpenBySource(db, scope)),
    read('gaps', () => listGaps(db, scope, { since: now, until: now })),
    loadParts(COVERAGE_MS).read('coverage', comparedDays),
  ]);
  const gapsOf = Map.groupBy(gaps ?? [], ({ source }) => source);
  const daysOf = Map.groupBy(compared ?? [], ({ source }) => source);
  const none = arrivals === null ? undefined : Array.from({ length: HOURS }, () => 0);
  const begun = (values.q ?? '').trim().toLowerCase();
  const all = sources.map((source): ShownSource => {
    const { name } = source;
    const { lastReceivedAt = null, events = none } = arrivals?.get(name) ?? {};
    const days = compared === null ? undefined : (daysOf.get(name) ?? []);
    const told = { ...source, lastReceivedAt, events, days, open: open?.get(name) ?? 0 };
    return { ...told, isKnown: gaps !== null, items: [...itemsOf(told, gapsOf.get(name) ?? [])] };
  });
  const common = commonOf(all, gapsOf.get(null) ?? []);
  const named = all.filter(({ name }) => name.toLowerCase().includes(begun));
  const shown = named
    .filter(STATES[values.state].has)
    .toSorted((one, other) => RANKS[values.order](one, other) || (one.name < other.name ? -1 : 1));
  return {
    title: 'Sources',
    modules: ['pages/directory.ts'],
    beside: html`
      <span class="dim">${countOf(sources.length, 'source')}</span>
      ${common.map((word) => html`${badge('warn', word)} <span class="dim">all sources</span>`)}
      ${hasAccess(visitor, CHANGE_SOURCES) && html`<a class="button" href="/add-source">Add a source</a>`}
    `,
    content: html`
      <form class="filters" action="/sources" role="search" aria-label="Sources" data-filters>
        ${fieldOf(asked, 'q', 'Part of the name')}
        <input type="hidden" name="order" value=${values.order} />
        <input type="hidden" name="state" value=${values.state} />
        <button>Search</button>
      </form>
      ${problems.map(({ part, why }) => html`<p class="note warn">No figures for ${part}: ${why}</p>`)}
      <div data-directory>
        ${statesOf(named, written, values.state)}
        ${tableOf(
          'Sources',
          columnsOf(written, values.order, common),
          shown,
          `No source${begun === '' ? '' : ` has “${begun}” in its name`}.`,
          'sources',
        )}
      </div>
      ${coverageLegend}
    `,
  };
}

/** The sources by what they need. */
const STATES: Readonly<
  Record<State, { readonly label: string; readonly has: (source: ShownSource) => boolean }>
> = {
  all: { label: 'All', has: () => true },
  attention: { label: 'Needs attention', has: (source) => severityOf(source) < SEVERITIES.indexOf('plain') },
  waiting: { label: 'Waiting', has: ({ items }) => items.some(({ word }) => word === 'waiting') },
  disabled: { label: 'Disabled', has: ({ state }) => state === 'disabled' },
};

const statesOf = (sources: readonly ShownSource[], written: Written, chosen: State): Content => html`
  <nav class="row states" aria-label="States">
    ${Object.entries(STATES).map(
      ([state, { label, has }]) => html`
        <a
          class="button quiet"
          href=${addressOf('/sources', { ...written, state })}
          aria-current=${state === chosen ? 'true' : undefined}
          >${label} ${formatCount(sources.filter(has).length)}</a
        >
      `,
    )}
  </nav>
`;

const sumOf = ({ events = [] }: ShownSource) => events.reduce((sum, count) => sum + count, 0);

const RANKS: Readonly<Record<Order, (one: ShownSource, other: ShownSource) => number>> = {
  name: () => 0,
  last: (one, other) => Number(other.lastReceivedAt) - Number(one.lastReceivedAt),
  events: (one, other) => sumOf(other) - sumOf(one),
  open: (one, other) => severityOf(one) - severityOf(other) || other.open - one.open,
};

const SEVERITIES = ['bad', 'warn', 'plain'];

const severityOf = ({ items }: ShownSource) =>
  Math.min(...items.map(({ kind }) => SEVERITIES.indexOf(kind)), 3);

/** What is open of a source, the worst first. */
function* itemsOf(
  { name, state, days = [], open, events, lastReceivedAt }: Omit<ShownSource, 'items' | 'isKnown'>,
  gaps: readonly MissingPeriod[],
): Generator<OpenItem> {
  if (state === 'conflict') yield { kind: 'bad', word: state, text: 'in the settings, too' };
  if (hasLost(days)) {
    yield {
      kind: 'bad',
      word: 'incomplete',
      text: 'events lost',
      href: addressOf('/coverage', { source: name }),
    };
  }
  for (const [reason, periods] of Map.groupBy(gaps, (gap) => gap.reason)) {
    const began = new Date(Math.min(...periods.map((period) => period.began_at.getTime())));
    yield { kind: 'warn', word: WORDS[reason] ?? reason, text: agoOf(began), href: '/subscriptions' };
  }
  if (open > 0) {
    const href = addressOf('/quarantine', { source: name });
    yield { kind: 'warn', word: 'quarantine', text: `${formatCount(open)} in quarantine`, href };
  }
  if (state === 'disabled') yield { kind: 'plain', word: state, text: 'rejects deliveries' };
  if (events !== undefined && lastReceivedAt === null)
    yield { kind: 'plain', word: 'waiting', text: 'first delivery awaited' };
}

/** A source of which nothing is open. */
function wordOf(source: ShownSource): string {
  if (!source.isKnown || source.events === undefined) return 'unknown';
  return sumOf(source) > 0 ? 'arriving' : 'quiet';
}

const WORDS: Readonly<Partial<Record<GapReason, string>>> = { silence: 'silent' };

/** The faults that all sources share, which their lines leave out. */
function commonOf(sources: readonly ShownSource[], ofAll: readonly MissingPeriod[]): readonly string[] {
  const [first, ...others] = sources.filter(({ state }) => state !== 'disabled');
  const shared = (first?.items ?? []).filter(
    ({ kind, word }) =>
      kind === 'warn' &&
      others.length > 0 &&
      others.every(({ items }) => items.some((item) => item.word === word)),
  );
  return [...new Set([...ofAll.map(({ reason }) => reason), ...shared.map(({ word }) => word)])];
}

function columnsOf(
  written: Written,
  order: Order,
  common: readonly string[],
): readonly Column<ShownSource>[] {
  const ownOf = ({ items }: ShownSource) => items.filter(({ word }) => !common.includes(word));
  const sort = (by: Order) => ({
    href: addressOf('/sources', { ...written, order: by }),
    order: by !== order ? undefined : by === 'name' ? ('ascending' as const) : ('descending' as const),
  });
  return [
    {
      heading: 'Name',
      isPlain: true,
      sort: sort('name'),
      cell: ({ name }) => html`<a href=${sourceAddress(name)}>${name}</a>`,
    },
    {
      heading: 'State',
      cell: (source) => {
        const [first] = ownOf(source);
        return first === undefined
          ? html`<span class="dim">${wordOf(source)}</span>`
          : badge(first.kind, first.word);
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
      heading: 'Coverage, 30 days',
      kind: 'days',
      cell: ({ name, days }) =>
        days === undefined
          ? html`<span class="dim">being counted</span>`
          : html`<a href=${addressOf('/coverage', { source: name })}>${coverageCells(days)}</a>`,
    },
    {
      heading: 'Open items',
      kind: 'nowrap',
      sort: sort('open'),
      cell: (source) =>
        ownOf(source).map(({ text, href }, index) => [
          index > 0 && ' · ',
          href === undefined ? html`<span class="dim">${text}</span>` : html`<a href=${href}>${text}</a>`,
        ]),
    },
  ];
}

const numberOf = (count: number, href: string): Content =>
  count === 0 ? html`<span class="dim">0</span>` : html`<a href=${href}>${formatCount(count)}</a>`;
