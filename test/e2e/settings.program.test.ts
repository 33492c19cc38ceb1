import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeDeliveries } from '../support/actions.ts';
import { createOwnedDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { freePort } from '../support/free-port.ts';
import { endOfProgram, PROGRAM, temporaryDirectory } from '../support/program.ts';

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** Commands on the database, one of each group. */
const COMMANDS = [
  ['events', 'search'],
  ['events', 'tail'],
  ['sql', 'select 1'],
  ['quarantine', 'list'],
  ['destinations', 'list'],
];

describe('a command without a database', () => {
  it.each(COMMANDS)('%s %s says where it looked, creates nothing and exits with 2', async (...args) => {
    const dataDir = path.join(directory, 'nothing-here');
    const { code, stderr } = await endOfProgram({ DATA_DIR: dataDir }, ...args);
    expect(stderr).toMatch(/^xiq-sink: There is no database in .*\n$/);
    expect(stderr).toContain(`${dataDir}/postgres`);
    expect(stderr).toMatch(/DATA_DIR.*DATABASE_URL.*xiq-sink serve/);
    expect(code).toBe(2);
    expect(await readdir(directory)).not.toContain('nothing-here');
  });
});

describe('a command on a database of another version', () => {
  const search = async (databaseUrl: string) =>
    endOfProgram({ DATABASE_URL: databaseUrl }, 'events', 'search');

  it('says that it has no tables, and creates none', async () => {
    const empty = await createOwnedDatabase();
    try {
      const { code, stderr } = await search(empty.databaseUrl);
      expect(stderr).toMatch(/^xiq-sink: The database at .* has no tables of xiq-sink.*xiq-sink migrate\n$/);
      expect(code).toBe(2);
      const { rows } = await sql`select from information_schema.tables where table_schema = 'public'`.execute(
        empty.db,
      );
      expect(rows).toEqual([]);
    } finally {
      await empty.drop();
    }
  });

  it.each([
    ['older', sql`delete from kysely_migration where name = '0008_outputs'`, /older version.*migrate\n$/],
    [
      'newer',
      sql`insert into kysely_migration (name, timestamp) values ('9999_future', '')`,
      /newer version.*9999_future/,
    ],
  ])('names it if it is %s, and applies nothing', async (_age, change, message) => {
    const test = await createTestDatabase();
    try {
      await change.execute(test.db);
      const { code, stderr } = await search(test.databaseUrl);
      expect(stderr).toMatch(message);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(code).toBe(2);
    } finally {
      await test.drop();
    }
  });
});

describe('a command whose database is away', () => {
  it.each([[['events', 'search']], [['migrate']]])('%j says so in one line', async (args) => {
    const port = await freePort();
    const url = `postgresql://user:hunter2hunter2@127.0.0.1:${port}/xiq`;
    const { code, stderr } = await endOfProgram({ DATABASE_URL: url }, ...args);
    expect(stderr).toBe(
      `xiq-sink: Can't reach the database at 127.0.0.1:${port} (connection refused). Check DATABASE_URL.\n`,
    );
    expect(code).toBe(1);
  });
});

describe('.env in the working directory', () => {
  const run = promisify(execFile);
  /** How a command ends that a wrong or missing setting stops. */
  async function problemOf(name: string, env: Record<string, string>): Promise<string> {
    const cwd = path.join(directory, name);
    const attempt = run(PROGRAM, ['events', 'search'], { cwd, env: { PATH: process.env['PATH'], ...env } });
    await expect(attempt).rejects.toMatchObject({ code: 2 });
    return attempt.then(({ stdout }) => stdout, String);
  }

  it('is read by every command, after the real environment', async () => {
    await mkdir(path.join(directory, 'with'));
    await writeFile(path.join(directory, 'with/.env'), 'DATA_DIR=/from/the/file\nPORT=eighty\n');
    expect(await problemOf('with', {})).toMatch(/PORT must be .*eighty/);
    expect(await problemOf('with', { PORT: '80' })).toContain('There is no database in /from/the/file/');
    expect(await problemOf('with', { PORT: '80', DATA_DIR: '/from/outside' })).toContain(
      'There is no database in /from/outside/',
    );
  });

  it('is not needed, but an error if it is unreadable', async () => {
    await mkdir(path.join(directory, 'without'));
    expect(await problemOf('without', {})).toContain('There is no database in');
    await mkdir(path.join(directory, 'without/.env'));
    expect(await problemOf('without', {})).toContain(`cannot read the settings in ${directory}/without/.env`);
  });

  it('names settings that are misspelled in it', async () => {
    await mkdir(path.join(directory, 'misspelled'));
    await writeFile(path.join(directory, 'misspelled/.env'), 'WEBHOOK_SECRETS=x\n');
    expect(await problemOf('misspelled', {})).toContain('did you mean WEBHOOK_SECRET?');
  });
});

describe('times on the command line', () => {
  let test: TestDatabase;
  beforeAll(async () => {
    test = await createTestDatabase();
    // Half past midnight of 1 July in Berlin, and still June in UTC.
    const timeStamp = Date.parse('2026-06-30T22:30Z');
    const record = auditRecord({ timeStamp });
    await storeDeliveries(test.db, queuedDelivery('AUDIT_LOG_ALL', [record]));
  });
  afterAll(() => test.drop());

  const search = (env: Record<string, string>, ...args: string[]) =>
    endOfProgram({ DATABASE_URL: test.databaseUrl, ...env }, 'events', 'search', '--json', ...args);

  it.each([
    [{}, ['--since', '2026-07-01'], 0],
    [{}, ['--since', '2026-06-30 22:30'], 1],
    [{}, ['--since', '2026-07-01', '--tz', 'Europe/Berlin'], 1],
    [{}, ['--tz', 'Europe/Berlin', '--until', '2026-07-01'], 0],
    [{ TZ: 'Europe/Berlin' }, ['--since', '2026-07-01'], 1],
    [{ TZ: 'Europe/Berlin' }, ['--since', '2026-07-01', '--tz', 'UTC'], 0],
    [{ TZ: 'Europe/Berlin' }, ['--since', '2026-07-01T00:00Z'], 0],
  ])('with %o and %j are read in the right zone', async (env, args, events) => {
    const { code, stdout } = await search(env, ...args);
    expect(code).toBe(0);
    expect(stdout.toString().split('\n').filter(Boolean)).toHaveLength(events);
  });

  it.each([
    [['--since', '2026-07-02', '--until', '2026-07-01'], /--since .* must be before --until/],
    [['--since', 'yesterday'], /It must be a time such as/],
    [['--since', '1h', '--tz', 'Berlin'], /IANA time zone such as Europe\/Berlin/],
  ])('%j are refused', async (args, message) => {
    const { code, stderr } = await search({}, ...args);
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
  });
});
