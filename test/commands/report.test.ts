import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { REPORT_NAMES } from '../../src/store/reports/report-names.ts';
import { useDirectory } from '../support/use-directory.ts';
import { useDatabase } from '../support/use-database.ts';
import { endOfCommand } from '../support/command.ts';

const YEAR = ['--since', '2025-06-01', '--until', '2026-12-01'];

const test = useDatabase({ isVaried: true });
const directory = useDirectory();

const run = (...words: string[]) =>
  endOfCommand(
    { DATABASE_URL: test.databaseUrl, READER_DATABASE_URL: test.readerUrl, DATA_DIR: directory },
    ...words,
  );

it('lists the reports', async () => {
  const { code, stdout: out } = await run('report');
  expect(code).toBe(0);
  for (const name of REPORT_NAMES) expect(out).toContain(name);
});

it('prints a report as CSV and as JSON, and records it in the operator log', async () => {
  const { code, stdout: out } = await run('report', 'logins', ...YEAR, '--csv', '--bom');
  expect(code).toBe(0);
  expect(out).toMatch(/^\uFEFFAdministrator,Logins,Off hours,First,Last\r?\n/);
  const json: unknown = JSON.parse((await run('report', 'logins', ...YEAR, '--json')).stdout);
  expect(json).toContainEqual(expect.objectContaining({ Administrator: 'ann' }));
  const { rows } = await sql<object>`
    select subject, outcome from operator_log where action = 'sql.query' order by id`.execute(test.db);
  expect(rows).toEqual([
    { subject: 'report logins', outcome: 'done' },
    { subject: 'report logins', outcome: 'done' },
  ]);
});

it('prints the statement, which the command sql runs', async () => {
  const { stdout: statement } = await run('report', 'keys', '--month', '2026-01', '--sql');
  const [{ stdout: same }, { stdout }] = [
    await run('sql', '--csv', statement),
    await run('report', 'keys', '--month', '2026-01', '--csv'),
  ];
  expect(same).toBe(stdout);
});

it('asks for the person of a report about one, and records who was looked at', async () => {
  const { code, stderr } = await run('report', 'access', ...YEAR);
  expect(code).toBe(2);
  expect(stderr).toContain('--user');
  expect(await run('report', 'access', ...YEAR, '--user', 'ann')).toMatchObject({ code: 0 });
  const { rows } = await sql<object>`
    select subject from operator_log where action = 'timeline.read'`.execute(test.db);
  expect(rows).toEqual([{ subject: 'ann' }]);
  expect(await run('report', 'keys', '--month', '2026-13')).toMatchObject({ code: 2 });
});
