import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { locateQueue, prepareStore, prepareTables, withStore } from '../../src/serve/open-store.ts';
import { UsageError } from '../../src/lib/errors.ts';
import { FIRST_MIGRATION } from '../../src/store/server/schema/migrations.ts';
import { createOwnedDatabase } from '../support/database.ts';
import { newDirectory } from '../support/use-directory.ts';

const logger = pino({ level: 'silent' });

it('a database is prepared once, for commands that find it then', async () => {
  const empty = await createOwnedDatabase();
  onTestFinished(() => empty.drop());
  const config = loadConfig({ DATABASE_URL: empty.databaseUrl, DATA_DIR: await newDirectory() });
  const store = () =>
    withStore(config, logger, async ({ databaseUrl }) => expect(databaseUrl).toBe(empty.databaseUrl));
  await expect(store()).rejects.toThrow('has no tables');
  expect(await prepareStore(config, logger)).toContain(FIRST_MIGRATION);
  expect(await prepareStore(config, logger)).toEqual([]);
  await store();

  const urls = { ...empty, readerUrl: undefined, migrationUrl: undefined };
  const tables = (more: object) =>
    prepareTables({ ...config, migrates: false, ...more }, urls, empty.db, AbortSignal.abort());
  expect(await tables({})).toEqual([]);
  await sql`delete from bullmq.migration`.execute(empty.db);
  await expect(tables({})).rejects.toThrow(UsageError);
  expect(await tables({ redisUrl: 'redis://cache' })).toEqual([]);
});

it.each([
  [{}, { kind: 'postgres', databaseUrl: 'actual', directUrl: 'actual' }],
  [{ DATABASE_URL: 'postgresql://db/x' }, { kind: 'postgres', databaseUrl: 'actual', directUrl: undefined }],
  [
    { DATABASE_URL: 'postgresql://pooler/x', DATABASE_DIRECT_URL: 'postgresql://db/x' },
    { kind: 'postgres', databaseUrl: 'actual', directUrl: 'postgresql://db/x' },
  ],
  [
    { REDIS_URL: 'redis://cache' },
    { kind: 'redis', url: 'redis://cache', caFile: undefined, prefix: 'bull' },
  ],
])('with %j the queue is at %j', (env, location) => {
  expect(locateQueue(loadConfig(env), 'actual')).toEqual({ ...location });
});
