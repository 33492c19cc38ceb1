import { expect, it } from 'vitest';
import { useArchive } from '../archive/archived-months.ts';
import { endOfCommand } from '../support/command.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase({ isVaried: true });
const archived = useArchive(test);

const run = (...words: string[]) =>
  endOfCommand({ DATABASE_URL: test.databaseUrl, DATA_DIR: archived.log.directory }, ...words);

const countJanuary = async () =>
  (
    await test.query<{ count: number }>`
    select count(*)::int as count from audit_events where occurred_at < '2026-02-01'`
  )[0]?.count ?? 0;

it('archive lists and moves the months before another one, and unarchive brings one back', async () => {
  const count = await countJanuary();
  expect(count).toBeGreaterThan(0);
  const listed = await run('archive', '--before', '2026-02', '--dry-run');
  expect(listed).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^audit_events_2026_01 +/m) as unknown,
  });
  expect(await countJanuary()).toBe(count);
  const { code, stderr } = await run('archive', '--before', '2026-02');
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(
      new RegExp(`^audit_events_2026_01: ${count} events in \\d+ files?, .* became `, 'm'),
    ),
  ]);
  expect(await countJanuary()).toBe(0);
  const again = await run('archive', '--before', '2026-02');
  expect(again).toMatchObject({ code: 0, stdout: 'There is nothing to archive.\n' });
  expect(JSON.parse((await run('archive', '--before', '2026-02', '--json')).stdout || '[]')).toEqual([]);

  const back = await run('unarchive', '--month', '2026-01');
  expect(back.stdout).toMatch(/^[\d,]+ events of 2026-01 are in the database again$/m);
  expect(await countJanuary()).toBe(count);
});

it.each([
  [['unarchive', '--month', '2025-12'], 'No events of 2025-12 are archived.'],
  [['archive', '--before', '2099-01'], 'the last two months stay in the database'],
  [['archive', '--before', 'January'], 'must be a month'],
])('%j is wrong usage', async (words, message) => {
  const { code, stderr } = await run(...words);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
