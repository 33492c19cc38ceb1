import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { operatorLogArea } from '../../src/console/operator-log/operator-log-area.ts';
import { openLimited, type Db } from '../../src/store/server/database.ts';
import { startAdmin, type RunningAdmin } from '../support/admin.ts';
import { useDatabase } from '../support/use-database.ts';
import { eventsForTests } from '../support/events-area.ts';

const test = useDatabase();
let db: Db;
let admin: RunningAdmin;
let person: Client;
beforeAll(async () => {
  db = openLimited('console', test.databaseUrl, () => undefined);
  admin = await startAdmin([eventsForTests(db), operatorLogArea({ db })], db);
  person = new Client({ connectionString: test.adminUrl, application_name: 'psql' });
  await person.connect();
});
afterAll(async () => {
  await person.end();
  await admin.close();
  await db.destroy();
});

const answerTo = async (path: string, accept: string) => {
  const response = await fetch(`${admin.url}${path}`, { headers: { Accept: accept } });
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    text: await response.text(),
  };
};

it('pages that need a locked table say who has locked it, and the others answer meanwhile', async () => {
  await person.query('begin; lock table audit_events in access exclusive mode');
  const { rows } = await person.query<{ pid: number }>('select pg_backend_pid() as pid');
  const began = performance.now();
  const paths = ['/events', '/api/v1/events'];
  // As many as the console has connections, so that the next page has none before these give theirs up.
  const locked = Array.from({ length: 3 }, () => paths)
    .flat()
    .map((path) => answerTo(path, path === '/events' ? 'text/html' : 'application/json'));
  const other = answerTo('/operator-log', 'text/html');
  for (const { status, retryAfter, text } of await Promise.all(locked)) {
    expect([status, retryAfter]).toEqual([503, '5']);
    expect(text).toContain(
      `the table audit_events is locked by pid ${rows[0]?.pid} (psql, user postgres), in a`,
    );
  }
  expect((await other).status).toBe(200);
  expect(performance.now() - began).toBeLessThan(6_000);
  await person.query('rollback');
  for (const path of paths) expect((await answerTo(path, '*/*')).status).toBe(200);
});
