import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { deleteSaved, printSaved, withSaved } from '../../src/commands/events/saved.ts';
import { ALL_SOURCES } from '../../src/store/scope.ts';
import { listSavedSearches, saveSearch } from '../../src/store/saved-searches.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
  const failed = {
    name: 'Failed logins',
    line: 'outcome:failure',
    since: '24h',
    until: null,
    raisesAlerts: true,
  };
  await saveSearch(test.db, ALL_SOURCES, failed, 'ada');
  await saveSearch(
    test.db,
    ['amber'],
    { name: 'Night', line: '', since: null, until: null, raisesAlerts: false },
    'amy',
  );
  await saveSearch(
    test.db,
    ['birch'],
    { name: 'night', line: '', since: null, until: null, raisesAlerts: false },
    'bea',
  );
});
afterAll(() => test.drop());
afterEach(() => vi.restoreAllMocks());

/** What the work writes to standard output. */
async function outputOf(work: () => Promise<void>): Promise<string> {
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await work();
  return write.mock.calls.map(([chunk]) => String(chunk)).join('');
}

it('are listed as a table and as JSON', async () => {
  const table = await outputOf(() => printSaved(test.db, false));
  expect(table.split('\n')[1]).toMatch(/^Failed logins +outcome:failure +24h – now +on +ada$/);
  vi.restoreAllMocks();
  const json = await outputOf(() => printSaved(test.db, true));
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
    'No search is saved as "Fail". There are: Failed logins, Night, night.',
  );
  await expect(withSaved(test.db, { saved: 'night' })).rejects.toThrow('Several people');
});

it('are deleted by name', async () => {
  expect(await outputOf(() => deleteSaved(test.db, 'NIGHT'))).toBe('deleted: Night\ndeleted: night\n');
  const left = await listSavedSearches(test.db, ALL_SOURCES);
  expect(left.map(({ name }) => name)).toEqual(['Failed logins']);
});
