import { createServer } from 'node:http';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

/** An API with one audit record of ten minutes ago, which refuses all other logs. */
async function startLog(): Promise<string> {
  const data = [
    { id: 1, timestamp: Date.now() - 600_000, user_id: 7, code: 10_001, description: 'logged in' },
  ];
  const server = createServer((request, response) => {
    const isAudit = request.url?.startsWith('/logs/audit?') === true;
    response.writeHead(isAudit ? 200 : 403, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isAudit ? { page: 1, count: 1, total_pages: 1, total_count: 1, data } : {}));
  });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  server.listen(0, '127.0.0.1', () => resolve(undefined));
  await promise;
  onTestFinished(() => void server.close());
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no address');
  return `http://127.0.0.1:${address.port}`;
}

it('serve fetches what no webhook brought, and reports what it may not read', async () => {
  const program = await startProgram({
    DATABASE_URL: test.databaseUrl,
    DATA_DIR: await temporaryDirectory(),
    WEBHOOK_SECRET: SECRET,
    CLOUD_API_URL: await startLog(),
    CLOUD_API_TOKEN: 'a-token-of-the-tests',
  });
  try {
    const events = () =>
      sql<{ origin: string }>`select origin, description, record_id from audit_log`.execute(test.db);
    await waitFor(async () => (await events()).rows.length > 0);
    expect((await events()).rows).toEqual([{ origin: 'backfill', description: 'logged in', record_id: '1' }]);
    const refused = () => program.output().split("can't compare with the history of the cloud").length - 1;
    await waitFor(() => refused() === 6);
  } finally {
    await program.end('SIGTERM');
  }
  const { rows } = await sql`select from history_leases`.execute(test.db);
  expect(rows).toEqual([]);
});
