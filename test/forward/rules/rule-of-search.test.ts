import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { alertRuleSchema } from '../../../src/forward/rules/alert-rule.ts';
import { createMatch } from '../../../src/forward/rules/match-event.ts';
import { ruleOfSearch } from '../../../src/forward/rules/rule-of-search.ts';
import { parseSearch } from '../../../src/search-query.ts';
import { ALL_SOURCES } from '../../../src/store/scope.ts';
import { searchEvents } from '../../../src/store/search-events.ts';
import type { StoredEvent } from '../../../src/store/stored-event.ts';
import { STORED, storeVariedEvents } from '../../store/varied-events.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let test: TestDatabase;
let all: readonly StoredEvent[];
beforeAll(async () => {
  test = await createTestDatabase();
  await storeVariedEvents(test.db);
  all = await searchEvents(test.db, ALL_SOURCES, {}, { limit: STORED });
});
afterAll(() => test.drop());

const settings = z.object({ alerts: z.tuple([alertRuleSchema]) });

const termsOf = (line: string) => parseSearch(line).terms ?? [];

/** The ids of the events that the rule of a search line looks at. */
function foundByRule(line: string): readonly string[] {
  const [rule] = settings.parse(parse(ruleOfSearch(termsOf(line)))).alerts;
  const matches = createMatch(rule);
  return all.filter((event) => matches(event)).map(({ eventId }) => eventId);
}

async function foundBySearch(line: string): Promise<readonly string[]> {
  const found = await searchEvents(test.db, ALL_SOURCES, { terms: termsOf(line) }, { limit: STORED });
  return found.map(({ eventId }) => eventId);
}

const TERMS = [
  'user:ANN',
  'user:b*',
  'user:"=CMD"*,ann',
  'code:10001,-7',
  'type:audit,alerts',
  'type:LOCATION_AP_CENTRIC',
  'ap:aa:bb:cc:dd:*',
  'client:00:11*',
  'mac:AABB.CCDD.EEFF',
  'mac:aa:bb:cc:dd:ee:0*',
  'ssid:QUICK',
  'ssid:b*',
  'org:5',
  'source:branch',
  'action:log*',
  'action:Configuration-changed,client-seen',
  'outcome:success',
  'outcome:Failure',
];

it('matches the events that the search finds', async () => {
  const terms = fc.uniqueArray(fc.constantFrom(...TERMS), {
    minLength: 1,
    maxLength: 3,
    selector: (term) => term.slice(0, term.indexOf(':')),
  });
  await fc.assert(
    fc.asyncProperty(terms, fc.infiniteStream(fc.boolean()), async (texts, isExcluded) => {
      const line = texts.map((text) => (isExcluded.next().value === true ? `-${text}` : text)).join(' ');
      fc.pre(!ruleOfSearch(termsOf(line)).startsWith('#'));
      expect(foundByRule(line)).toEqual(await foundBySearch(line));
    }),
    { numRuns: 100 },
  );
});

it.each(TERMS)('can say %s and its opposite', async (term) => {
  for (const line of [term, `-${term}`]) {
    expect(ruleOfSearch(termsOf(line))).not.toContain('#');
    expect(foundByRule(line)).toEqual(await foundBySearch(line));
  }
});

it('names what a rule cannot express, and leaves it out', () => {
  const rule = ruleOfSearch(termsOf('user:ann "quick" device:ap-1 user:b*'));
  expect(rule.split('\n').filter((text) => text.startsWith('#'))).toEqual([
    '# A rule cannot express this condition, which is left out: text',
    '# A rule cannot express this condition, which is left out: device',
    '# A rule cannot express this condition, which is left out: user',
  ]);
  expect(settings.parse(parse(rule)).alerts[0].filter).toEqual([{ users: ['ann'] }]);
});
