import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { openServer } from '../../src/serve/open-server.ts';
import { loadSettings } from '../../src/serve/load-settings.ts';
import type { Db } from '../../src/store/server/database.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase();

it('limits how long the parts of a process wait for the database, and not how long its upkeep takes', async () => {
  await using opened = new AsyncDisposableStack();
  const { db, upkeep } = await openServer(
    {
      config: loadSettings({ DATABASE_URL: test.databaseUrl }),
      logger: pino({ level: 'silent' }),
      signal: new AbortController().signal,
      runStep: (_title, work) => work(),
    },
    opened,
  );
  const limitOf = async (one: Db) =>
    (await sql<{ limit: string }>`select current_setting('statement_timeout') as limit`.execute(one)).rows;
  expect(await limitOf(db)).toEqual([{ limit: '45s' }]);
  expect(await limitOf(upkeep)).toEqual([{ limit: '0' }]);
});
