import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { storeDeliveries } from '../support/actions.ts';
import { endOfCommand } from '../support/command.ts';
import { createOwnedDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { databaseForTest } from '../support/for-one-test.ts';
import { freePort } from '../support/free-port.ts';
import { useDatabase } from '../support/use-database.ts';
import { useDirectory } from '../support/use-directory.ts';

const directory = useDirectory();

it.each([
  ['events', 'search'],
  ['sql', 'select 1'],
  ['quarantine', 'list'],
])('%s %s without a database says where it looked, and creates nothing', async (...args) => {
  const dataDir = path.join(directory, 'nothing-here');
  const { code, stderr } = await endOfCommand({ DATA_DIR: dataDir }, ...args);
  expect(stderr).toMatch(/^xiq-sink: There is no database in .*\n$/);
  expect(stderr).toContain(`${dataDir}/postgres`);
  expect(stderr).toMatch(/DATA_DIR.*DATABASE_URL.*xiq-sink serve/);
  expect(code).toBe(2);
  expect(await readdir(directory)).not.toContain('nothing-here');
});

describe('a command on a database of another version', () => {
  const search = (databaseUrl: string) => endOfCommand({ DATABASE_URL: databaseUrl }, 'events', 'search');

  it('says that it has no tables, and creates none', async () => {
    const empty = await createOwnedDatabase();
    onTestFinished(() => empty.drop());
    const { code, stderr } = await search(empty.databaseUrl);
    expect(stderr).toMatch(/^xiq-sink: The database at .* has no tables of xiq-sink.*xiq-sink migrate\n$/);
    expect(code).toBe(2);
    const tables = sql`select from information_schema.tables where table_schema = 'public'`;
    expect((await tables.execute(empty.db)).rows).toEqual([]);
  });

  it.each([
    ['older', sql`delete from kysely_migration where name = '0008_outputs'`, /older version.*migrate\n$/],
    [
      'newer',
      sql`insert into kysely_migration (name, timestamp) values ('9999_future', '')`,
      /newer version.*9999_future/,
    ],
  ])('names it if it is %s, and applies nothing', async (_age, change, message) => {
    const test = await databaseForTest();
    await change.execute(test.db);
    const { code, stderr } = await search(test.databaseUrl);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(code).toBe(2);
  });
});

it.each([[['events', 'search']], [['migrate']]])(
  '%j says in one line that its database is away',
  async (args) => {
    const port = await freePort();
    const url = `postgresql://user:hunter2hunter2@127.0.0.1:${port}/xiq`;
    const { code, stderr } = await endOfCommand({ DATABASE_URL: url }, ...args);
    expect(stderr).toBe(
      `xiq-sink: Can't reach the database at 127.0.0.1:${port} (connection refused). Check DATABASE_URL.\n`,
    );
    expect(code).toBe(1);
  },
);

it.each([[['events', 'search']], [['migrate']]])(
  '%j says what to do if the database denies access',
  async (args) => {
    const empty = await createOwnedDatabase();
    onTestFinished(() => empty.drop());
    const url = new URL(empty.databaseUrl);
    url.username = 'nobody_here';
    const { code, stderr } = await endOfCommand({ DATABASE_URL: url.href }, ...args);
    expect(stderr).toMatch(
      /^xiq-sink: The database at \S+ denies access \(.*\bnobody_here\b.*\)\. Check the login.*operating\.md#database-roles\)\.\n$/,
    );
    expect(code).toBe(1);
  },
);

describe('times on the command line', () => {
  const test = useDatabase();
  beforeAll(async () => {
    // Half past midnight of 1 July in Berlin, and still June in UTC.
    const record = auditRecord({ timeStamp: Date.parse('2026-06-30T22:30Z') });
    await storeDeliveries(test.db, queuedDelivery('AUDIT_LOG_ALL', [record]));
  });

  const search = (...args: string[]) =>
    endOfCommand({ DATABASE_URL: test.databaseUrl }, 'events', 'search', '--json', ...args);

  it.each([
    [['--since', '2026-07-01', '--tz', 'UTC'], 0],
    [['--since', '2026-07-01', '--tz', 'Europe/Berlin'], 1],
    [['--tz', 'Europe/Berlin', '--until', '2026-07-01'], 0],
    [['--since', '2026-07-01T00:00Z', '--tz', 'Europe/Berlin'], 0],
  ])('%j are read in the right zone', async (args, events) => {
    const { code, stdout } = await search(...args);
    expect(code).toBe(0);
    expect(stdout.split('\n').filter(Boolean)).toHaveLength(events);
  });

  it.each([
    [['--since', '2026-07-02', '--until', '2026-07-01'], /--since .* must be before --until/],
    [['--since', 'yesterday'], /It must be a time such as/],
    [['--since', '1h', '--tz', 'Berlin'], /IANA time zone such as Europe\/Berlin/],
  ])('%j are refused', async (args, message) => {
    const { code, stderr } = await search(...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});
