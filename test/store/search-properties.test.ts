import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MESSAGE_TYPES } from '../../src/domain.ts';
import type { EventFilter } from '../../src/store/event-filter.ts';
import { eventHistogram } from '../../src/store/event-histogram.ts';
import type { EventPosition } from '../../src/store/event-pages.ts';
import { readStretch } from '../../src/store/read-events.ts';
import { countEventsUpTo, findEvent, searchEvents } from '../../src/store/search-events.ts';
import { openLog } from '../../src/store/read-log.ts';
import { ALL_SOURCES } from '../../src/store/scope.ts';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { untilSeen } from '../support/until-seen.ts';
import { naiveSearch } from './naive-search.ts';
import { DAY, POOL, START, STORED, storeVariedEvents } from './varied-events.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
  await storeVariedEvents(test.db);
});
afterAll(() => test.drop());

const rarely = <T>(values: readonly T[]) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...values) },
  );

const time = fc.integer({ min: -12, max: 150 }).map((days) => new Date(START + days * DAY));

const filters: fc.Arbitrary<EventFilter> = fc.record({
  messageTypes: fc.option(fc.subarray([...MESSAGE_TYPES]), { nil: undefined }),
  source: rarely(POOL.sources),
  user: rarely(POOL.users),
  code: rarely(POOL.codes),
  orgId: rarely(POOL.orgs),
  mac: rarely(POOL.macs),
  accessPoint: rarely(POOL.macs),
  device: rarely(POOL.devices),
  text: rarely(['quick', 'BROWN_', '0%', 'grüsse', 'GRÜSSE', 'zürich', '\\', 'nowhere', 'guest']),
  since: fc.option(time, { nil: undefined }),
  until: fc.option(time, { nil: undefined }),
});

/** Follows the stored events from the first one on, a stretch at a time. */
async function followAll(filter: EventFilter, limit: number): Promise<string[]> {
  const ids: string[] = [];
  const log = openLog(test.db);
  let position = 0;
  for (;;) {
    const { events, end, isFull } = await readStretch(log, ALL_SOURCES, position, limit, filter);
    ids.push(...[...events].map(({ id }) => id));
    if (!isFull || end === undefined) return ids;
    position = end;
  }
}

async function searchAll(filter: EventFilter, limit: number, order: 'newest' | 'oldest'): Promise<string[]> {
  const ids: string[] = [];
  let after: EventPosition | undefined;
  for (;;) {
    const page = await searchEvents(test.db, ALL_SOURCES, filter, { limit, after, order });
    ids.push(...page.map(({ id }) => id));
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return ids;
    after = { occurredAt: new Date(last.occurredAt), eventId: last.eventId };
  }
}

describe('any filter', () => {
  it('finds page by page what a plain query finds, each event once', async () => {
    await fc.assert(
      fc.asyncProperty(
        filters,
        fc.integer({ min: 15, max: 200 }),
        fc.constantFrom('newest' as const, 'oldest' as const),
        async (filter, limit, order) => {
          const expected = await naiveSearch(test.db, filter);
          expect(await searchAll(filter, limit, order)).toEqual(
            order === 'newest' ? expected : expected.toReversed(),
          );
        },
      ),
      {
        numRuns: 50,
        examples: [
          [{}, 200, 'newest'],
          [{}, 150, 'oldest'],
        ],
      },
    );
    expect(await naiveSearch(test.db, {})).toHaveLength(STORED);
  });

  it('follows the stored events over those that do not match, each event once', async () => {
    await untilSeen(test.db);
    expect(await followAll({}, 1_000)).toHaveLength(STORED);
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 15, max: 900 }), async (filter, limit) => {
        const expected = await naiveSearch(test.db, filter);
        const found = await followAll(filter, limit);
        expect(found.toSorted()).toEqual(expected.toSorted());
      }),
      { numRuns: 30, examples: [[{}, 100]] },
    );
  });

  it('counts the same in the bars of a histogram, and up to a limit', async () => {
    const ranges = fc.tuple(filters, time, time, fc.integer({ min: 2, max: 300 }));
    await fc.assert(
      fc.asyncProperty(ranges, async ([filter, since, until, maxBars]) => {
        const range = { ...filter, since, until };
        const expected = await naiveSearch(test.db, range);
        const { bars, bucketSeconds, isComplete } = await eventHistogram(
          test.db,
          ALL_SOURCES,
          range,
          maxBars,
        );
        const sum = bars.flatMap(({ counts }) => Object.values(counts)).reduce((a, b) => a + b, 0);
        expect({ sum, isComplete }).toEqual({ sum: expected.length, isComplete: true });
        expect(bars.length).toBeLessThanOrEqual(maxBars);
        const starts = bars.map(({ start }) => start.getTime());
        for (const [index, start] of starts.entries()) {
          expect(start).toBe((starts[0] ?? 0) + index * bucketSeconds * 1_000);
        }
        expect(await countEventsUpTo(test.db, ALL_SOURCES, range, 100)).toBe(Math.min(100, expected.length));
      }),
      { numRuns: 30 },
    );
  });
});

describe('one event', () => {
  it('is found by its id, with its time and without', async () => {
    const [event] = await searchEvents(test.db, ALL_SOURCES, { user: 'Bob' }, { limit: 1 });
    if (event === undefined) throw new Error('there is none');
    expect(await findEvent(test.db, ALL_SOURCES, event.eventId)).toEqual(event);
    expect(await findEvent(test.db, ALL_SOURCES, event.eventId, new Date(event.occurredAt))).toEqual(event);
    expect(await findEvent(test.db, ALL_SOURCES, event.eventId, new Date(START - 100 * DAY))).toBeUndefined();
    expect(await findEvent(test.db, ALL_SOURCES, event.deliveryId)).toBeUndefined();
  });
});
