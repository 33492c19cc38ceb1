import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { endOfCommand } from '../support/command.ts';
import { SERVICE_ROLE } from '../support/roles.ts';
import { openSealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase({ isVaried: true });

it('archive gives up with the first month if nothing seals the list of its files', async () => {
  // The superuser of the fixture has made these months.
  await sql`grant select, insert on all tables in schema public to ${sql.id(SERVICE_ROLE)}`.execute(test.db);
  const log = await openSealedLog(test.service);
  await log.seal();
  const settings = { DATABASE_URL: test.databaseUrl, DATA_DIR: log.directory };
  const { code, stderr } = await endOfCommand(settings, 'archive', '--before', '2026-06');
  expect(code).toBe(1);
  expect(stderr.match(/ stays/g)).toHaveLength(1);
  expect(stderr).toContain('Start serve, which seals');
});
