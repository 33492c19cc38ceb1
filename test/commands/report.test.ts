import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { reportsArea } from '../../src/console/reports/reports-area.ts';
import { REPORT_NAMES } from '../../src/store/reports/report-names.ts';
import { startAdmin } from '../support/admin.ts';
import { useDirectory } from '../support/use-directory.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { endOfProgram } from '../support/program.ts';
import { storeVariedEvents } from '../store/events/varied-events.ts';

const YEAR = ['--since', '2025-06-01', '--until', '2026-12-01'];

let test: TestDatabase;
const directory = useDirectory();
beforeAll(async () => {
  test = await createTestDatabase();
  await storeVariedEvents(test.db);
});
afterAll(() => test.drop());

async function run(...words: string[]) {
  const settings = {
    DATABASE_URL: test.databaseUrl,
    READER_DATABASE_URL: test.readerUrl,
    DATA_DIR: directory,
  };
  const { code, stdout, stderr } = await endOfProgram(settings, ...words);
  return { code, out: stdout.toString(), complaint: stderr };
}

it('lists the reports', async () => {
  const { code, out } = await run('report');
  expect(code).toBe(0);
  for (const name of REPORT_NAMES) expect(out).toContain(name);
});

it('prints a report as CSV and as JSON, and records it in the operator log', async () => {
  const { code, out } = await run('report', 'logins', ...YEAR, '--csv');
  expect(code).toBe(0);
  expect(out).toMatch(/^Administrator,Logins,Off hours,First,Last\r?\n/);
  const json: unknown = JSON.parse((await run('report', 'logins', ...YEAR, '--json')).out);
  expect(json).toContainEqual(expect.objectContaining({ Administrator: 'ann' }));
  const { rows } = await sql<object>`
    select subject, outcome from operator_log where action = 'sql.query' order by id`.execute(test.db);
  expect(rows).toEqual([
    { subject: 'report logins', outcome: 'done' },
    { subject: 'report logins', outcome: 'done' },
  ]);
});

it('prints the statement, which the command sql runs', async () => {
  const { out: statement } = await run('report', 'keys', '--month', '2026-01', '--sql');
  const [{ out: same }, { out }] = [
    await run('sql', '--csv', statement),
    await run('report', 'keys', '--month', '2026-01', '--csv'),
  ];
  expect(same).toBe(out);
});

it('asks for the person of a report about one, and records who was looked at', async () => {
  const { code, complaint } = await run('report', 'access', ...YEAR);
  expect(code).toBe(2);
  expect(complaint).toContain('--user');
  expect(await run('report', 'access', ...YEAR, '--user', 'ann')).toMatchObject({ code: 0 });
  const { rows } = await sql<object>`
    select subject from operator_log where action = 'timeline.read'`.execute(test.db);
  expect(rows).toEqual([{ subject: 'ann' }]);
  expect(await run('report', 'keys', '--month', '2026-13')).toMatchObject({ code: 2 });
});

it('is a page of the console, whose rows lead to their events', async () => {
  const admin = await startAdmin([reportsArea({ db: test.db, schedules: () => [] })], test.db);
  onTestFinished(() => admin.close());
  const page = await admin.page('/reports?name=administration&month=2026-01');
  expect(page).toContain('Who administered what, 2026-01');
  expect(page).toContain('code%3A10001');
  expect(page).toContain('The SQL behind it');
  expect(await admin.page('/reports?month=1999-01')).toContain('Nothing was found in this range.');
  expect(await admin.page('/reports?name=access')).toContain('Name a person');
  await expect(admin.page('/reports?tz=Nowhere')).rejects.toThrow('must be an IANA time zone');
});
