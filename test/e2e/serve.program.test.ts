import { Queue } from 'bullmq';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/store/server/database.ts';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { type TestDatabase } from '../support/database.ts';
import { startLoad } from '../support/load.ts';
import { SECRET } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { databaseForTest, directoryForTest, serveForTest } from '../support/for-one-test.ts';

/** The settings of a program on this backend, with an empty queue. */
async function settingsFor(usesRedis: boolean, databaseUrl: string): Promise<Record<string, string>> {
  return {
    DATABASE_URL: databaseUrl,
    DATA_DIR: await directoryForTest(),
    WEBHOOK_SECRET: SECRET,
    ...(usesRedis ? { REDIS_URL: await emptyRedis() } : {}),
  };
}

const storedNumbers = async ({ db }: Pick<TestDatabase, 'db'>) =>
  (await sql<{ user_id: string }>`select user_id from audit_log`.execute(db)).rows.map((row) =>
    Number(row.user_id),
  );

/** Every acknowledged record is in the table, and no record is in it twice. */
async function expectConserved(
  database: Pick<TestDatabase, 'db'>,
  acknowledged: readonly number[],
): Promise<void> {
  await waitFor(async () => {
    const stored = new Set(await storedNumbers(database));
    return acknowledged.every((number) => stored.has(number));
  });
  const stored = await storedNumbers(database);
  expect(new Set(stored).size).toBe(stored.length);
  const { rows } = await sql`select * from conservation where not adds_up`.execute(database.db);
  expect(rows).toEqual([]);
}

describe.each(BACKENDS)('serve, $backend', ({ available, usesRedis }) => {
  it.skipIf(!available)(
    'keeps every acknowledged delivery through a kill -9 in the middle of a load',
    async () => {
      const database = await databaseForTest();
      const settings = await settingsFor(usesRedis, database.databaseUrl);
      let program = await serveForTest(settings);
      const load = startLoad(() => program.url);
      await waitFor(() => load.acknowledged() > 1_000);
      await program.end('SIGKILL');
      program = await serveForTest(settings);
      const before = load.acknowledged();
      await waitFor(() => load.acknowledged() > before + 500);
      await expectConserved(database, await load.stop());
    },
  );
});

const redisAvailable = BACKENDS.some(({ usesRedis, available }) => usesRedis && available);

describe('serve with Redis', () => {
  it.skipIf(!redisAvailable)('stores all through a stop and start of Postgres under load', async () => {
    const directory = await directoryForTest();
    let postgres = await startEmbeddedPostgres(directory);
    onTestFinished(() => postgres.stop());
    const settings = await settingsFor(true, postgres.databaseUrl);
    const program = await serveForTest({ ...settings, MIGRATION_DATABASE_URL: postgres.migrationUrl });
    const load = startLoad(() => program.url);
    await waitFor(() => load.acknowledged() > 500);
    await postgres.stop();
    const before = load.acknowledged();
    await waitFor(() => load.acknowledged() > before + 2_000);
    postgres = await startEmbeddedPostgres(directory);
    const acknowledged = await load.stop();

    const db = openDatabase(postgres.databaseUrl, () => undefined);
    try {
      await expectConserved({ db }, acknowledged);
      expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    } finally {
      await db.destroy();
    }
    const queue = new Queue('deliveries', { connection: { url: settings['REDIS_URL'] ?? '' } });
    try {
      // Not one attempt was used up: no job is failed, delayed for another attempt, or left.
      expect(await queue.getJobCounts('failed', 'delayed', 'wait')).toEqual({
        failed: 0,
        delayed: 0,
        wait: 0,
      });
    } finally {
      await queue.close();
    }
    expect(program.output()).not.toContain('will be tried again');
  });
});
