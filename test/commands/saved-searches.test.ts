import { beforeAll, expect, it } from 'vitest';
import { deleteSaved, printSaved, withSaved } from '../../src/commands/events/saved.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { listSavedSearches, saveSearch } from '../../src/store/alerts/saved-searches.ts';
import { printedBy } from '../support/printed.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase();
beforeAll(async () => {
  const blank = { line: '', since: null, until: null, raisesAlerts: false };
  const failed = {
    ...blank,
    name: 'Failed logins',
    line: 'outcome:failure',
    since: '24h',
    raisesAlerts: true,
  };
  await saveSearch(test.db, ALL_SOURCES, failed, { name: 'ada', mayAlert: true });
  await saveSearch(test.db, ['amber'], { ...blank, name: 'Night' }, { name: 'amy', mayAlert: true });
  await saveSearch(test.db, ['birch'], { ...blank, name: 'night' }, { name: 'bea', mayAlert: true });
});

it('are listed as a table and as JSON', async () => {
  const table = (await printedBy(() => printSaved(test.db, false))).out;
  expect(table.split('\n')[1]).toMatch(/^Failed logins +outcome:failure +24h – now +on +ada$/);
  const json = (await printedBy(() => printSaved(test.db, true))).out;
  expect(JSON.parse(json.split('\n')[0] ?? '')).toMatchObject({
    name: 'Failed logins',
    saved_by: 'ada',
    raises_alerts: true,
  });
});

it('are used by name in any case, with the range of the options before their own', async () => {
  const [term] = (await withSaved(test.db, { saved: 'FAILED logins' })).saved;
  expect(term).toMatchObject({ key: 'outcome', values: [{ text: 'failure' }] });
  expect(await withSaved(test.db, { saved: 'failed logins' })).toMatchObject({ since: '24h' });
  expect(await withSaved(test.db, { saved: 'failed logins', since: '7d' })).toMatchObject({ since: '7d' });
});

it('must exist, and be the only ones of their name', async () => {
  await expect(withSaved(test.db, { saved: 'Fail' })).rejects.toThrow(
    'Saved searches: Failed logins, Night, night.',
  );
  await expect(withSaved(test.db, { saved: 'night' })).rejects.toThrow('Several people');
});

it('are deleted by name', async () => {
  expect((await printedBy(() => deleteSaved(test.db, 'NIGHT'))).out).toBe('deleted: Night\ndeleted: night\n');
  const left = await listSavedSearches(test.db, ALL_SOURCES);
  expect(left.map(({ name }) => name)).toEqual(['Failed logins']);
});
