import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseSearch } from '../../src/search-query.ts';
import type { EventFilter } from '../../src/store/event-filter.ts';
import { readOnlyQuery } from '../../src/store/read-only-query.ts';
import { ALL_SOURCES, type Scope } from '../../src/store/scope.ts';
import { searchEvents } from '../../src/store/search-events.ts';
import { searchStatement } from '../../src/store/search-sql.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { DAY, POOL, START, STORED, storeVariedEvents } from './varied-events.ts';

const TERMS = [
  'user:ann',
  'user:b*',
  'user:"=CMD"*',
  'code:10001,-7',
  'type:audit,alerts',
  'mac:aa:bb:cc:dd:ee:0*',
  'ssid:"50%"',
  'device:AP-*',
  'device:17',
  'org:5',
  'source:branch',
  'origin:webhook',
  'action:log*',
  'outcome:failure',
  'brown_',
  'text:"\'"',
  String.raw`text:"\\"`,
  String.raw`text:"\""`,
];

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase({ logs: true });
  await storeVariedEvents(test.db);
});
afterAll(() => test.drop());

/** The ids that a search finds in the program, and by its SQL as the reader. */
async function findBoth(scope: Scope, filter: EventFilter) {
  const found = await searchEvents(test.db, scope, filter, { limit: STORED });
  const { columns, rows } = await readOnlyQuery(test.readerUrl, searchStatement(test.db, scope, filter));
  const place = columns.findIndex(({ name }) => name === 'event_id');
  return { found: found.map(({ eventId }) => eventId), bySql: rows.map((row) => row[place]) };
}

it('finds the same events in the same order as the search, whoever runs it', async () => {
  const scopes = fc.constantFrom<Scope[]>(ALL_SOURCES, ['default'], []);
  const terms = fc.subarray(TERMS, { maxLength: 3 });
  const days = fc.option(fc.integer({ min: -8, max: 140 }), { nil: undefined });
  const at = (day: number | undefined) => (day === undefined ? undefined : new Date(START + day * DAY));
  await fc.assert(
    fc.asyncProperty(
      scopes,
      terms,
      fc.infiniteStream(fc.boolean()),
      days,
      days,
      async (scope, texts, isExcluded, since, until) => {
        const line = texts.map((text) => (isExcluded.next().value === true ? `-${text}` : text)).join(' ');
        const filter = { terms: parseSearch(line).terms ?? [], since: at(since), until: at(until) };
        expect(filter.terms).toHaveLength(texts.length);
        const { found, bySql } = await findBoth(scope, filter);
        expect(bySql).toEqual(found);
      },
    ),
    { numRuns: 60 },
  );
});

it.each(POOL.texts)('writes the text %j so that it stays text', async (text) => {
  const { found, bySql } = await findBoth(ALL_SOURCES, { text });
  expect(bySql).toEqual(found);
});

it('finds nothing where a term can match no type', async () => {
  const { found, bySql } = await findBoth(ALL_SOURCES, {
    terms: parseSearch('type:location user:ann').terms,
  });
  expect({ found, bySql }).toEqual({ found: [], bySql: [] });
});
