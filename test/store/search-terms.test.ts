import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FAMILY_OF } from '../../src/domain.ts';
import { ACTION_OF_KIND } from '../../src/event-words.ts';
import { outcomeOf, recordKind } from '../../src/record-kind.ts';
import { parseSearch, type SearchTerm } from '../../src/search-query.ts';
import { searchEvents } from '../../src/store/search-events.ts';
import { viewEvent, type StoredEvent } from '../../src/store/stored-event.ts';
import { ALL_SOURCES } from '../../src/store/scope.ts';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { STORED, storeVariedEvents } from './varied-events.ts';

let test: TestDatabase;
let all: readonly StoredEvent[];
beforeAll(async () => {
  test = await createTestDatabase();
  await storeVariedEvents(test.db);
  all = await searchEvents(test.db, ALL_SOURCES, {}, { limit: STORED });
});
afterAll(() => test.drop());

/** The values of an event that a key is compared with. */
function valuesOf(key: SearchTerm['key'], event: StoredEvent): readonly (string | null)[] {
  const { user, clientMac, apMac, code } = viewEvent(event);
  const { columns } = event;
  switch (key) {
    case 'type':
      return [FAMILY_OF[event.messageType], event.messageType];
    case 'user':
      return [user];
    case 'client':
      return [clientMac];
    case 'ap':
      return [apMac];
    case 'mac':
      return [clientMac, apMac];
    case 'ssid':
      return [columns['ssid'] ?? null].flat();
    case 'device':
      return ['host_names', 'device_serial_number', 'alert_source_name', 'alert_source_id'].flatMap(
        (column) => columns[column] ?? null,
      );
    case 'code':
      return [code];
    case 'org':
      return [event.orgId];
    case 'source':
      return [event.source];
    case 'origin':
      return [event.origin];
    case 'action':
      return [ACTION_OF_KIND.get(recordKind(event)) ?? null];
    case 'outcome':
      return [outcomeOf(recordKind(event), event)];
    case 'text':
      return [JSON.stringify(event.payload)];
  }
}

function matches(event: StoredEvent, { key, values, isExcluded }: SearchTerm): boolean {
  const stored = valuesOf(key, event).flatMap((value) => (value === null ? [] : [value.toLowerCase()]));
  const isFound = values.some(({ text, isPrefix }) =>
    stored.some((value) => {
      const sought = text.toLowerCase();
      if (key === 'text') return value.includes(sought);
      return isPrefix ? value.startsWith(sought) : value === sought;
    }),
  );
  return isFound !== isExcluded;
}

const TERMS = [
  'user:ANN',
  'user:b*',
  'user:"=CMD"*,ann',
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
  'action:session-*,personal-data-deleted',
  'outcome:success',
  'outcome:Failure',
  'brown_',
  'text:quick,50%',
];

it('finds the events that all terms of a search line match', async () => {
  expect(all).toHaveLength(STORED);
  const terms = fc.subarray(TERMS, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(terms, fc.infiniteStream(fc.boolean()), async (texts, excluded) => {
      const line = texts.map((text) => (excluded.next().value === true ? `-${text}` : text)).join(' ');
      const search = parseSearch(line).terms ?? [];
      expect(search).toHaveLength(texts.length);
      const found = await searchEvents(test.db, ALL_SOURCES, { terms: search }, { limit: STORED });
      const expected = all.filter((event) => search.every((term) => matches(event, term)));
      expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
    }),
    { numRuns: 100 },
  );
});

it.each(TERMS)('%s matches some events, or none are of that kind', async (line) => {
  const found = await searchEvents(test.db, ALL_SOURCES, { terms: parseSearch(line).terms }, { limit: 1 });
  expect(found.length).toBe(line === 'origin:backfill' ? 0 : 1);
});
