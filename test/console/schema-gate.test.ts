import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSchemaGate } from '../../src/console/schema-gate.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { migrateStore } from '../../src/store/server/schema/migrate.ts';
import { startAdmin, type RunningAdmin } from '../support/admin.ts';
import { ask, formOf } from '../support/ask.ts';
import { createOwnedDatabase, type OwnedDatabase } from '../support/database.ts';
import { overviewForTests } from './overview/overview-for-tests.ts';
import { eventsForTests } from '../support/events-area.ts';

const TOKEN = 'admin-token-of-the-schema-test';
const Authorization = `Bearer ${TOKEN}`;

describe('the console on a database without tables', () => {
  let database: OwnedDatabase;
  let admin: RunningAdmin;
  beforeAll(async () => {
    database = await createOwnedDatabase();
    const areas = [overviewForTests(database.db), eventsForTests(database.db)];
    admin = await startAdmin(areas, database.db, { token: TOKEN });
  });
  afterAll(async () => {
    await admin.close();
    await database.drop();
  });

  const answerOf = async (path: string, Accept: string) => {
    const { status, headers, text } = await ask(admin.url, { path, headers: { Authorization, Accept } });
    return { status, retryAfter: headers['retry-after'], text };
  };

  it.each(['/', '/events'])('answers 503 for the page %s, with the time to retry', async (path) => {
    const { status, retryAfter, text } = await answerOf(path, 'text/html');
    expect([status, retryAfter]).toEqual([503, '2']);
    expect(text).toContain('the database is being prepared');
  });

  it('answers 503 for the API', async () => {
    const { status, retryAfter, text } = await answerOf('/api/v1/events', 'application/json');
    expect([status, retryAfter]).toEqual([503, '2']);
    expect(JSON.parse(text)).toMatchObject({ error_code: 'DATABASE_NOT_READY' });
  });

  it('answers 503 for a log-in with the right token, but shows the log-in page, metrics and health', async () => {
    const login = formOf({ token: TOKEN });
    expect(await ask(admin.url, login)).toMatchObject({ status: 503 });
    for (const path of ['/metrics', '/healthz']) {
      expect(await answerOf(path, '*/*')).toMatchObject({ status: 200 });
    }
    expect(await ask(admin.url, { path: '/login' })).toMatchObject({ status: 200 });
  });

  it('answers as soon as the tables are there', async () => {
    await migrateStore(database.db);
    expect(await answerOf('/', 'text/html')).toMatchObject({ status: 200 });
    expect(await answerOf('/api/v1/events', 'application/json')).toMatchObject({ status: 200 });
  });
});

it('a database that does not answer passes: each page reports that itself', async () => {
  const away = openDatabase('postgres://nobody@127.0.0.1:1/none', () => undefined);
  await expect(createSchemaGate(away)()).resolves.toBeUndefined();
  await away.destroy();
});
