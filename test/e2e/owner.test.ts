import { rm } from 'node:fs/promises';
import { sql } from 'kysely';
import { afterEach, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { createOwnedDatabase } from '../support/database.ts';
import type { OwnedDatabase } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { runProgram, SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function dataDirectory(): Promise<string> {
  const directory = await temporaryDirectory();
  cleanUps.push(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function ownedDatabase(adminUrl?: string): Promise<OwnedDatabase> {
  const owned = await createOwnedDatabase(adminUrl);
  cleanUps.push(() => owned.drop());
  return owned;
}

/** Serves on this database as its owner, and stores a delivery. */
async function expectServed({ databaseUrl, db }: OwnedDatabase): Promise<Record<string, string>> {
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: await dataDirectory(), WEBHOOK_SECRET: SECRET };
  const program = await startProgram(settings);
  cleanUps.push(() => program.end('SIGTERM'));
  const response = await fetch(`${program.url}/ingest/default/AUDIT_LOG_ALL`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRET}` },
    body: JSON.stringify([auditRecord()]),
  });
  expect(response.status).toBe(200);
  await waitFor(async () => (await sql`select from audit_log`.execute(db)).rows.length === 1);
  return settings;
}

it('an owner who is no superuser serves where another database has made the reading role', async () => {
  const owned = await ownedDatabase();
  const settings = await expectServed(owned);
  const { rows } = await sql<{ member: boolean }>`
    select pg_has_role('xiq_reader', 'member') as member`.execute(owned.db);
  if (rows[0]?.member === true) return;
  await expect(runProgram(settings, 'sql', 'select 1')).rejects.toThrow(/grant xiq_reader to/);
});

it('an owner who is no superuser makes the reading role where there is none, and reads as it', async () => {
  const postgres = await startEmbeddedPostgres(await dataDirectory());
  cleanUps.push(() => postgres.stop());
  const owned = await ownedDatabase(postgres.databaseUrl);
  const settings = await expectServed(owned);
  expect(await runProgram(settings, 'sql', '--csv', 'select count(*) from audit_log')).toBe('count\r\n1\r\n');
});
