import { expect, it } from 'vitest';
import { createMatch } from '../../src/alerts/match-rule.ts';
import { withStoredRules } from '../../src/alerts/parse-rules.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { saveSearch } from '../../src/store/alerts/saved-searches.ts';
import { findEvents } from '../support/find-events.ts';
import { STORED } from '../store/events/varied-events.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase({ isVaried: true });

const search = { since: null, until: null, raisesAlerts: true };

it('has the rules of the settings, and one of each search that raises alerts, for the sources of its saver', async () => {
  await saveSearch(
    test.db,
    ALL_SOURCES,
    { ...search, name: 'Quiet', line: '', raisesAlerts: false },
    { name: 'ada', mayAlert: true },
  );
  await saveSearch(
    test.db,
    ALL_SOURCES,
    { ...search, name: 'No search any more', line: 'nokey:1' },
    { name: 'ada', mayAlert: true },
  );
  await saveSearch(
    test.db,
    ['branch'],
    { ...search, name: 'Audits', line: 'type:audit' },
    { name: 'amy', mayAlert: true },
  );
  const rules = await withStoredRules(test.db, []);
  expect(rules.map(({ title }) => title)).toEqual(['Audits']);
  const [rule] = rules;
  expect(rule?.name).toMatch(/^search-\d+$/);
  expect(await withStoredRules(test.db, rules)).toEqual(rules);
  const events = await findEvents(test.db, ALL_SOURCES, {}, { limit: STORED });
  const found = rule === undefined ? [] : events.filter(createMatch(rule));
  expect(found.length).toBeGreaterThan(0);
  expect(new Set(found.map(({ source, family }) => `${source} ${family}`))).toEqual(
    new Set(['branch audit']),
  );
});
