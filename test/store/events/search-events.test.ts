import * as fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { createSearchMatch } from '../../../src/events/match-search.ts';
import { exactTerm, parseSearch, type SearchTerm } from '../../../src/events/search-query.ts';
import type { EventFilter } from '../../../src/store/events/event-filter.ts';
import { eventHistogram } from '../../../src/store/events/event-histogram.ts';
import type { EventPosition } from '../../../src/store/events/event-pages.ts';
import { countFacet, FACETS } from '../../../src/store/events/facets.ts';
import { readSlice } from '../../../src/store/events/read-events.ts';
import { openLog } from '../../../src/store/log/read-log.ts';
import {
  countEventsUpTo,
  findEvent,
  searchEvents,
  searchStatement,
} from '../../../src/store/events/search-events.ts';
import { findEvents } from '../../support/find-events.ts';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { readOnlyQuery } from '../../../src/store/server/read-only-query.ts';
import { ALL_SOURCES, isInScope, type Scope } from '../../../src/store/server/scope.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { useDatabase } from '../../support/use-database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { DAY, POOL, START, STORED } from './varied-events.ts';
import { runs } from '../../support/runs.ts';

const test = useDatabase({ isVaried: true });
let all: readonly StoredEvent[];
beforeAll(async () => {
  await untilSeen(test.db);
  all = await findEvents(test.db, ALL_SOURCES, {}, { limit: STORED + 1 });
});

/** The ids that the reader finds by the SQL of a search. */
async function idsBySql(scope: Scope, filter: EventFilter): Promise<readonly unknown[]> {
  const { columns, rows } = await readOnlyQuery(test.readerUrl, searchStatement(test.db, scope, filter));
  const place = columns.findIndex(({ name }) => name === 'event_id');
  return rows.map((row) => row[place]);
}

const TERMS = [
  'user:ANN',
  'user:b*',
  'user:"=CMD"*,ann',
  'text:"\'"',
  String.raw`text:"\\"`,
  String.raw`text:"\""`,
  'code:10001,-7',
  'type:audit,alerts',
  'type:LOCATION_AP_CENTRIC',
  'ap:aabbcc*',
  'client:0*',
  'mac:AABB.CCDD.EEFF',
  'mac:aa:bb:cc:dd:ee:0*',
  'ssid:QUICK',
  'ssid:"50%"',
  'ssid:b*',
  'device:AP-*',
  'device:sn-5',
  'org:5',
  'source:BRA*',
  'origin:webhook',
  'origin:backfill',
  'action:login',
  'action:log*',
  'action:Configuration-changed,client-seen',
  'action:session-started',
  'action:session-*,personal-data-deletion',
  'outcome:success',
  'outcome:Failure',
  'brown_',
  'text:quick,50%',
];

interface Search {
  readonly scope: Scope;
  readonly filter: Omit<EventFilter, 'terms'> & { readonly terms: readonly SearchTerm[] };
}

const day = fc
  .option(fc.integer({ min: -12, max: 150 }), { nil: undefined })
  .map((days) => (days === undefined ? undefined : new Date(START + days * DAY)));

/** Up to three terms of a line, each of which may be excluded, in a range of days. */
const searches: fc.Arbitrary<Search> = fc
  .record({
    texts: fc.subarray(TERMS, { maxLength: 3 }),
    excluded: fc.infiniteStream(fc.boolean()),
    scope: fc.constantFrom<Scope[]>(ALL_SOURCES, ALL_SOURCES, ['default'], []),
    since: day,
    until: day,
  })
  .map(({ texts, excluded, scope, since, until }) => {
    const line = texts.map((text) => (excluded.next().value === true ? `-${text}` : text)).join(' ');
    return { scope, filter: { terms: parseSearch(line).terms ?? [], since, until } };
  });

/** The events that a search has to find, newest first. */
const expectedOf = ({ scope, filter: { terms, since, until } }: Search) =>
  all
    .filter(createSearchMatch(terms))
    .filter(
      ({ source, occurredAt }) =>
        isInScope(scope, source) &&
        (since === undefined || new Date(occurredAt) >= since) &&
        (until === undefined || new Date(occurredAt) < until),
    );

const idsOf = (events: Iterable<StoredEvent>) => Array.from(events, ({ eventId }) => eventId);

async function searchAll(
  { scope, filter }: Search,
  limit: number,
  order: 'newest' | 'oldest',
  milliseconds?: number,
) {
  const ids: string[] = [];
  let after: EventPosition | undefined;
  for (;;) {
    const page = { limit, after, order, milliseconds };
    const { events, next } = await searchEvents(test.db, scope, filter, page);
    ids.push(...idsOf(events));
    const last = next ?? (events.length < limit ? undefined : events.at(-1));
    if (last === undefined) return ids;
    after = { occurredAt: new Date(last.occurredAt), eventId: last.eventId };
  }
}

async function followAll({ scope, filter }: Search, limit: number): Promise<string[]> {
  const ids: string[] = [];
  const log = openLog(test.db);
  for (let position = 0; ;) {
    const { events, end, isFull } = await readSlice(log, scope, position, limit, filter);
    ids.push(...idsOf(events));
    if (!isFull || end === undefined) return ids;
    position = end;
  }
}

it('finds the events that match each term alone, an exact device, and those of which nothing tells the outcome', async () => {
  const lines = TERMS.map((text) => parseSearch(text).terms ?? []);
  const exact = [
    ...POOL.devices.map((device) => exactTerm('device', device)),
    exactTerm('outcome', 'unknown'),
  ];
  for (const terms of [...lines, ...exact.map((term) => [term])]) {
    const search = { scope: ALL_SOURCES, filter: { terms } };
    const found = await searchAll(search, STORED + 1, 'newest');
    expect({ terms, found }).toEqual({ terms, found: idsOf(expectedOf(search)) });
  }
});

it('finds all events, newest first', () => {
  expect(all).toHaveLength(STORED);
  const place = ({ occurredAt, eventId }: StoredEvent) => `${occurredAt} ${eventId}`;
  expect(all.map(place)).toEqual(all.map(place).toSorted().toReversed());
});

it.each(['newest', 'oldest'] as const)(
  'gives what it found in its time, and goes on there until it has all, %s first',
  async (order) => {
    const filter = { terms: parseSearch('type:audit,alerts the').terms ?? [] };
    const ids = idsOf(expectedOf({ scope: ALL_SOURCES, filter }));
    const found = await searchAll({ scope: ALL_SOURCES, filter }, STORED, order, 1);
    expect(ids.length).toBeGreaterThan(0);
    expect(found).toEqual(order === 'newest' ? ids : ids.toReversed());
    const search = { limit: STORED, order, milliseconds: 1 };
    // Now and then, a millisecond is enough for all of them.
    await waitFor(async () => (await searchEvents(test.db, ALL_SOURCES, filter, search)).next);
  },
);

it('finds page by page, in either order, the events that all terms of a line match, and so does its SQL', async () => {
  const pages = fc.tuple(searches, fc.integer({ min: 15, max: 200 }), fc.boolean());
  await fc.assert(
    fc.asyncProperty(pages, async ([search, limit, isNewest]) => {
      const ids = idsOf(expectedOf(search));
      const found = await searchAll(search, limit, isNewest ? 'newest' : 'oldest');
      expect(found).toEqual(isNewest ? ids : ids.toReversed());
      expect(await idsBySql(search.scope, search.filter)).toEqual(ids);
      const most = await countEventsUpTo(test.db, search.scope, search.filter, 100);
      expect(most).toBe(Math.min(100, ids.length));
    }),
    { numRuns: runs(30) },
  );
});

it('follows the stored events over those that do not match, each event once', async () => {
  await fc.assert(
    fc.asyncProperty(searches, fc.integer({ min: 15, max: 900 }), async (search, limit) => {
      const found = await followAll(search, limit);
      expect(found.toSorted()).toEqual(idsOf(expectedOf(search)).toSorted());
    }),
    { numRuns: runs(20) },
  );
});

it('counts the same in the bars of a histogram, which are as wide as each other', async () => {
  const histograms = fc.tuple(searches, fc.integer({ min: 2, max: 300 }));
  await fc.assert(
    fc.asyncProperty(histograms, async ([{ scope, filter }, maxBars]) => {
      const range = {
        ...filter,
        since: filter.since ?? new Date(START),
        until: filter.until ?? new Date(START + DAY),
      };
      const { bars, bucketSeconds, isComplete } = await eventHistogram(test.db, scope, range, maxBars);
      const sum = bars.flatMap(({ counts }) => Object.values(counts)).reduce((a, b) => a + b, 0);
      const expected = expectedOf({ scope, filter: range });
      expect({ sum, isComplete }).toEqual({ sum: expected.length, isComplete: true });
      expect(bars.length).toBeLessThanOrEqual(maxBars);
      const [first] = bars;
      expect(bars.map(({ start }) => start.getTime())).toEqual(
        bars.map((_, index) => (first?.start.getTime() ?? 0) + index * bucketSeconds * 1_000),
      );
    }),
    { numRuns: runs(20) },
  );
});

it.each(FACETS)('counts as many events of each value of the facet %s as a search finds', async (facet) => {
  const range = { since: new Date(START), until: new Date(START + 30 * DAY) };
  const values = async (limit: number) => {
    const { values, isComplete } = await countFacet(test.db, ALL_SOURCES, range, facet, limit);
    expect(isComplete).toBe(true);
    return values;
  };
  const counted = await values(100);
  expect(counted.length).toBeGreaterThan(0);
  for (const { value, count } of counted) {
    const filter = { ...range, terms: [exactTerm(facet, value)] };
    expect([value, count]).toEqual([value, await countEventsUpTo(test.db, ALL_SOURCES, filter, STORED)]);
  }
  expect(counted.map(({ count }) => count)).toEqual(
    counted.map(({ count }) => count).toSorted((a, b) => b - a),
  );
  expect(await values(1)).toEqual(counted.slice(0, 1));
});

it('finds one event by its id, with its time and without', async () => {
  const [event] = all;
  if (event === undefined) throw new Error('there is none');
  expect(await findEvent(test.db, ALL_SOURCES, event.eventId)).toEqual(event);
  expect(await findEvent(test.db, ALL_SOURCES, event.eventId, new Date(event.occurredAt))).toEqual(event);
  expect(await findEvent(test.db, ALL_SOURCES, event.eventId, new Date(START - 100 * DAY))).toBeUndefined();
  expect(await findEvent(test.db, [], event.eventId)).toBeUndefined();
  expect(await findEvent(test.db, ALL_SOURCES, event.deliveryId)).toBeUndefined();
});

it.each(POOL.texts)('the SQL of a search keeps the text %j as it is', async (text) => {
  const search = { scope: ALL_SOURCES, filter: { terms: [exactTerm('text', text)] } };
  expect(await idsBySql(search.scope, search.filter)).toEqual(idsOf(expectedOf(search)));
});
