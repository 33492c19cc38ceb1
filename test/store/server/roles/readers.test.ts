import { sql } from 'kysely';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, expect, it } from 'vitest';
import { addSqlLogin, removeSqlLogin } from '../../../../src/commands/access/sql-logins.ts';
import {
  limitReaders,
  repairReaders,
  startReaderLimits,
} from '../../../../src/store/server/roles/limit-readers.ts';
import { findReaderChanges, listReaders } from '../../../../src/store/server/roles/readers.ts';
import { printedBy } from '../../../support/printed.ts';
import { useDatabase } from '../../../support/use-database.ts';
import { waitFor } from '../../../support/wait-for.ts';

const test = useDatabase();

/** The server is that of all tests: a person of this database alone. */
const database = () => new URL(test.databaseUrl).pathname.slice(1);
const person = () => database().slice(-12);
const login = () => `xiq_reader_${person()}`;

afterAll(() => sql`drop role if exists ${sql.id(login())}`.execute(test.db));

/** The logins of this file: others may be there of other files at the same time. */
const own = <T extends { readonly login: string }>(found: readonly T[]) =>
  found.filter((one) => one.login === login());

it("a person's login reads within its limits, is repaired, and is removed", async () => {
  const urls = { databaseUrl: test.databaseUrl, readerUrl: undefined, migrationUrl: undefined };
  const add = () => addSqlLogin({ db: test.service, ...urls }, person(), 'ask');
  const { out } = await printedBy(add);
  const [, address = '', password = ''] = /: (\S+)\npassword: (\S+)/.exec(out) ?? [];
  const url = new URL(address);
  url.password = password;
  await expect(add()).rejects.toThrow(`${login()} exists already`);

  const ada = new Client({ connectionString: url.href });
  ada.on('error', () => undefined);
  await ada.connect();
  expect((await ada.query('select count(*)::int from events')).rows).toEqual([{ count: 0 }]);
  expect((await ada.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '5min' }]);
  expect((await ada.query('show jit')).rows).toEqual([{ jit: 'off' }]);
  for (const write of ['create table mine ()', 'delete from deliveries', 'select from accounts']) {
    await expect(ada.query(`begin read write; ${write}`)).rejects.toThrow(/permission denied/);
    await ada.query('rollback');
  }
  expect(await listReaders(test.service)).toContainEqual({ person: person(), sessions: 1 });
  const slow = new Client({ connectionString: url.href, application_name: 'slow' });
  slow.on('error', () => undefined);
  await slow.connect();
  await slow.query('begin');
  expect(await limitReaders(test.service, 3_600)).toEqual([]);
  expect(await limitReaders(test.service, 0)).toMatchObject([{ role: login(), application: 'slow' }]);

  expect(own(await findReaderChanges(test.service))).toEqual([]);
  const here = `alter role ${login()} in database ${database()}`;
  await ada.query(`begin read write; ${here} set search_path = elsewhere; commit`);
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => lines.push(line) });
  await using started = new AsyncDisposableStack();
  startReaderLimits(test.service, undefined, logger, started);
  const isOwn = (line: string) => line.includes(`"login":"${login()}"`);
  const line = await waitFor(() => lines.find(isOwn));
  expect(line).toContain('"changes":["it has search_path=elsewhere"]');
  expect(own(await findReaderChanges(test.service))).toEqual([]);

  await printedBy(() => removeSqlLogin(test.service, person()));
  await expect(ada.query('select')).rejects.toThrow(/terminat|closed|not queryable/i);
  await expect(new Client({ connectionString: url.href }).connect()).rejects.toThrow(
    /does not exist|authentication/,
  );
  await expect(removeSqlLogin(test.service, person())).rejects.toThrow(`no login ${login()}`);
  const rows = await test.query`select action, subject, details, outcome from operator_log order by id`;
  const entry = { subject: person(), details: { sql: login() } };
  expect(rows).toEqual([
    { action: 'access.add', ...entry, outcome: 'done' },
    { action: 'access.add', ...entry, outcome: 'failed' },
    { action: 'access.remove', ...entry, outcome: 'done' },
    { action: 'access.remove', ...entry, outcome: 'failed' },
  ]);
});

it('the service makes readers, and no other role', async () => {
  for (const name of ['postgres', 'xiq_sink', 'xiq_owner', 'xiq_readers', 'xiq_reader_']) {
    await expect(
      sql`select xiq_roles.keep_reader(${name}, 'a-password')`.execute(test.service),
    ).rejects.toThrow(`${name} is no login of a reader`);
  }
  for (const name of ['xiq_reader', 'xiq_owner']) {
    await expect(sql`select xiq_roles.drop_reader(${name})`.execute(test.service)).rejects.toThrow(
      /is not the login of a person/,
    );
  }
});

it('a database whose roles no administrator has created has no logins to repair', async () => {
  await test.query`drop schema xiq_roles cascade`;
  expect(await repairReaders(test.service, test.readerUrl)).toEqual([]);
});
