import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

const USERS = 20;
const TIMES = ['2090-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '0001-01-01T00:00:00Z'];

/** Each hostile event comes between two honest ones of the same name. */
it('events of any time of one source silence no rule for the other', async () => {
  await using closing = new AsyncDisposableStack();
  const database = await createTestDatabase();
  closing.defer(() => database.drop());
  const directory = await temporaryDirectory();
  closing.defer(() => rm(directory, { recursive: true, force: true }));
  const file = path.join(directory, 'settings.yaml');
  const sources = ['hostile', 'quiet'].map((name) => `  - {name: ${name}, webhook_secrets: [${SECRET}]}\n`);
  const burst =
    '{name: burst, title: Burst, filter: {codes: [40001]}, count: 3, within: 10m, group_by: [user_name]}';
  await writeFile(file, `sources:\n${sources.join('')}alerts: [${burst}]\n`);
  const settings = { DATABASE_URL: database.databaseUrl, DATA_DIR: directory, XIQ_SINK_CONFIG: file };
  const program = await startProgram(settings);
  closing.defer(async () => void (await program.end('SIGKILL')));
  let id = 0;
  const post = async (source: string, userName: string, timeStamp: number) => {
    const response = await fetch(`${program.url}/ingest/${source}/AUDIT_LOG_ALL`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}` },
      body: JSON.stringify([auditRecord({ code: 40_001, userId: (id += 1), userName, timeStamp })]),
    });
    expect(response.status).toBe(200);
    await response.text();
  };
  const isOn = sql`select from rule_progress where position is not null`;
  await waitFor(async () => (await isOn.execute(database.db)).rows.length > 0);
  const alertsOf = async (prefix: string) => {
    const { rows } = await sql`
      select from alerts where source = 'quiet' and grouped_by ->> 'user_name' like ${`${prefix}%`}`.execute(
      database.db,
    );
    return rows.length;
  };
  for (const [prefix, isAttacked] of [
    ['alone', false],
    ['attacked', true],
  ] as const) {
    for (let n = 0; n < 3 * USERS; n += 1) {
      await post('quiet', `${prefix}-${n % USERS}`, Date.now());
      const time = TIMES[n % TIMES.length];
      if (isAttacked && time !== undefined) await post('hostile', `${prefix}-${n % USERS}`, Date.parse(time));
    }
    await waitFor(async () => (await alertsOf(prefix)) === USERS);
    process.stdout.write(`alerts of the quiet source, ${prefix}: ${USERS} of ${USERS}\n`);
  }
});
