import path from 'node:path';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { bootstrapUrl, keepCredentials } from '../../src/embedded/credentials.ts';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { withClient } from '../../src/store/server/postgres.ts';
import { createOwnedDatabase, type OwnedDatabase } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { endOfProgram, postDelivery, runProgram, SECRET } from '../support/program.ts';
import { READER_ROLE, withRole } from '../support/roles.ts';
import { waitFor } from '../support/wait-for.ts';
import { directoryForTest, serveForTest } from '../support/for-one-test.ts';

async function ownedDatabase(adminUrl?: string): Promise<OwnedDatabase> {
  const owned = await createOwnedDatabase(adminUrl);
  onTestFinished(() => owned.drop());
  return owned;
}

/** Serves on this database as its owner, and stores a delivery. */
async function expectServed({ databaseUrl, db }: OwnedDatabase): Promise<Record<string, string>> {
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: await directoryForTest(), WEBHOOK_SECRET: SECRET };
  const program = await serveForTest(settings);
  const response = await postDelivery(program, 'AUDIT_LOG_ALL', [auditRecord()]);
  expect(response.status).toBe(200);
  await waitFor(async () => (await sql`select from audit_log`.execute(db)).rows.length === 1);
  return settings;
}

it('an owner who is no superuser serves where another database has made the reading role', async () => {
  const owned = await ownedDatabase();
  const settings = await expectServed(owned);
  const { code, stderr } = await endOfProgram(settings, 'sql', 'select 1');
  expect(code).toBe(2);
  expect(stderr).toContain(`alter role xiq_reader login password 'PASSWORD' connection limit 10;`);
  const database = new URL(owned.databaseUrl).pathname.slice(1);
  expect(stderr).toContain(`grant connect on database "${database}" to xiq_reader;`);
  const asOwner = { ...settings, READER_DATABASE_URL: owned.databaseUrl };
  await expect(runProgram(asOwner, 'sql', 'select 1')).rejects.toThrow(/must name the role xiq_reader/);
  const { stdout } = await endOfProgram(settings, 'doctor', '--json');
  expect(stdout.toString()).toMatch(/"check":"roles","status":"warn","message":"[^"]*owns the tables/);
});

it('an owner who is no superuser makes the reading role where there is none, and reads as it', async () => {
  const directory = await directoryForTest();
  const postgres = await startEmbeddedPostgres(directory);
  onTestFinished(() => postgres.stop());
  const adminUrl = bootstrapUrl(await keepCredentials(path.join(directory, 'postgres')));
  await withClient(adminUrl, async (client) => {
    await client.query('drop owned by xiq_reader');
    await client.query('drop role xiq_reader');
  });
  const owned = await ownedDatabase(adminUrl);
  const settings = await expectServed(owned);
  // What the message of sql without READER_DATABASE_URL says.
  await sql`alter role xiq_reader login password 'password-of-xiq_reader' connection limit 10`.execute(
    owned.admin,
  );
  const reading = { ...settings, READER_DATABASE_URL: withRole(owned.databaseUrl, READER_ROLE) };
  expect(await runProgram(reading, 'sql', '--csv', 'select count(*) from audit_log')).toBe('count\r\n1\r\n');
  await expect(runProgram(reading, 'sql', 'select nothing')).rejects.toThrow(/nothing/);
  const { rows } = await sql`
    select via, outcome, details ->> 'statement' as statement, result ->> 'rows' as rows
    from operator_log where action = 'sql.query' order by id`.execute(owned.admin);
  expect(rows).toEqual([
    { via: 'command', outcome: 'done', statement: 'select count(*) from audit_log', rows: '1' },
    { via: 'command', outcome: 'failed', statement: 'select nothing', rows: null },
  ]);
});
