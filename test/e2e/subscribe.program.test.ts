import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { createCloudClient } from '../../src/cloud/client.ts';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import type { Db } from '../../src/store/server/database.ts';
import { databaseForTest, directoryForTest, serveForTest } from '../support/for-one-test.ts';
import { runProgram } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

const OLD_SECRET = 'old-webhook-secret-0123456789';
const NEW_SECRET = 'new-webhook-secret-0123456789';

it('takes every delivery while the secret is rotated under a load of 200 a second', async () => {
  const { db, databaseUrl } = await databaseForTest();
  const emulator = createEmulator({ rate: 200 });
  const apiUrl = await emulator.listen(0);
  onTestFinished(() => emulator.close());
  const { username, password } = EMULATOR_LOGINS.administrator;
  const { subscriptions } = createCloudClient({ baseUrl: apiUrl, credentials: { username, password } });
  const secretsInCloud = async () => {
    const list = await subscriptions.list();
    return list.available ? new Set(list.subscriptions.map(({ secret }) => secret)) : undefined;
  };
  const both = `${NEW_SECRET},${OLD_SECRET}`;
  const settings = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: await directoryForTest(),
    CLOUD_API_URL: apiUrl,
    CLOUD_USERNAME: username,
    CLOUD_PASSWORD: password,
  };
  const program = await serveForTest({
    ...settings,
    PUBLIC_URL: 'http://127.0.0.1:9',
    WEBHOOK_SECRET: both,
  });
  const apply = (WEBHOOK_SECRET: string) =>
    runProgram({ ...settings, PUBLIC_URL: program.url, WEBHOOK_SECRET }, 'subscribe', 'apply');
  const sent = () => Object.values(emulator.status().sent);
  const accepted = () => sent().reduce((sum, { answers }) => sum + (answers['200'] ?? 0), 0);
  const arrived = async (more: number) => {
    const goal = accepted() + more;
    await waitFor(() => accepted() >= goal);
  };

  await apply(OLD_SECRET);
  expect(await secretsInCloud()).toEqual(new Set([OLD_SECRET]));
  await arrived(300);
  expect(await apply(both)).toContain('default: 10 changes made');
  expect(await secretsInCloud()).toEqual(new Set([NEW_SECRET]));
  await arrived(300);
  await emulator.close();

  const total = (of: (one: ReturnType<typeof sent>[number]) => number) =>
    sent().reduce((sum, one) => sum + of(one), 0);
  expect(new Set(sent().flatMap(({ answers }) => Object.keys(answers)))).toEqual(new Set(['200']));
  await waitFor(async () => (await stored(db))?.deliveries === total((one) => one.deliveries));
  expect(await stored(db)).toEqual({
    deliveries: total((one) => one.deliveries),
    records: total((one) => one.records),
    adds_up: true,
  });
});

/** What the cloud sent. The program stores an event of its own while it finds a subscription off. */
async function stored(db: Db) {
  const { rows } = await sql<{ deliveries: number; records: number; adds_up: boolean }>`
    select sum(delivery_count)::int as deliveries, sum(record_count)::int as records, bool_and(adds_up) as adds_up
    from conservation where message_type <> 'OTHER'`.execute(db);
  return rows[0];
}
