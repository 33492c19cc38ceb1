import { expect, it } from 'vitest';
import { serveForTest } from '../support/for-one-test.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { standIn } from '../support/stand-in.ts';

const test = useDatabase();

const RECORD = { id: 1, timestamp: Date.now() - 600_000, user_id: 7, code: 10_001, description: 'logged in' };

it('serve fetches events that no webhook delivered, and reports what it may not read', async () => {
  // It has one audit record of ten minutes ago, and refuses all other logs.
  await using cloud = await standIn(({ url }) =>
    url.startsWith('/logs/audit?') ? { json: { page: 1, total_pages: 1, data: [RECORD] } } : { status: 403 },
  );
  const program = await serveForTest({
    DATABASE_URL: test.databaseUrl,
    CLOUD_API_URL: cloud.url,
    CLOUD_API_TOKEN: 'a-token-of-the-tests',
  });
  const events = () => test.query`select origin, description, record_id from audit_log`;
  await waitFor(async () => (await events()).length > 0);
  expect(await events()).toEqual([{ origin: 'backfill', description: 'logged in', record_id: '1' }]);
  const refused = () => program.output().split("can't compare with the cloud's logs").length - 1;
  await waitFor(() => refused() === 6);
  await program.end('SIGTERM');
  const rows = await test.query`select from history_leases`;
  expect(rows).toEqual([]);
});
