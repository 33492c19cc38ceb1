import { expect, it } from 'vitest';
import { listActions } from '../../src/store/access/operator-log.ts';
import { ask } from '../support/ask.ts';
import { auditRecord } from '../support/deliveries.ts';
import { databaseForTest, directoryForTest, serveForTest } from '../support/for-one-test.ts';
import { postDelivery, runProgram, type Program } from '../support/program.ts';
import { SECRETS_KEY } from '../support/sources.ts';
import { waitFor } from '../support/wait-for.ts';
import { tcpServer } from '../forward/senders/tcp-server.ts';

const TOKEN = 'a-token-of-splunk';

async function post({ adminUrl }: Program, address: string, body: object = {}) {
  const { status, text } = await ask(adminUrl, {
    method: 'POST',
    path: `/api/v1${address}`,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect([status, text]).toEqual([200, expect.anything()]);
}

const send = async (program: Program, userName: string) =>
  expect((await postDelivery(program, 'AUDIT_LOG_ALL', auditRecord({ userName }))).status).toBe(200);

it('destinations and rules added in one process are in force in the others, without a restart', async () => {
  const { db, databaseUrl } = await databaseForTest();
  let received = '';
  const { port } = await tcpServer((socket) => {
    socket.on('data', (bytes) => (received += bytes.toString()));
  });
  const settings = { DATABASE_URL: databaseUrl, SECRETS_KEY };
  const program = await serveForTest(settings);
  const console = await serveForTest(settings, '--role', 'console');
  await send(program, 'before');
  await waitFor(async () => (await db.selectFrom('audit_events').selectAll().execute()).length === 1);

  const options = { type: 'syslog', transport: 'tcp', host: '127.0.0.1', port, confirm: false };
  await post(console, '/destinations', { name: 'siem', ...options, format: 'json' });
  await waitFor(async () => (await db.selectFrom('destinations').selectAll().execute()).length === 1);
  await send(program, 'after');
  await waitFor(async () => received.includes('"after"'));
  expect(received).not.toContain('"before"');

  await post(console, '/alert-rules', { name: 'of-mallory', search: 'user:mallory', destinations: ['siem'] });
  const isOn = (rule: string) => async () => {
    const { rules } = await db.selectFrom('rule_progress').select('rules').executeTakeFirstOrThrow();
    return rule in rules;
  };
  await waitFor(isOn('of-mallory'));
  await send(program, 'mallory');
  await waitFor(async () => received.includes('XIQ_SINK_ALERT'));

  // The command line knows both, and its key opens the credential.
  const command = { ...settings, DATA_DIR: await directoryForTest() };
  await post(console, '/destinations', {
    name: 'splunk',
    type: 'splunk_hec',
    url: 'https://127.0.0.1:1',
    token: TOKEN,
  });
  expect(await runProgram(command, 'destinations', 'list')).toMatch(/siem +syslog +json +database +running/);
  expect(await runProgram(command, 'destinations', 'test', 'siem')).toContain('siem accepted the test event');
  expect(await runProgram(command, 'alerts', 'rules')).toMatch(/of-mallory +on/);
  const newKey = Buffer.alloc(32, 2).toString('base64');
  const both = { ...command, SECRETS_KEY: `${newKey},${SECRETS_KEY}` };
  expect(await runProgram(both, 'sources', 'rotate', '--reencrypt')).toContain(
    '0 sources and 2 destinations',
  );

  // A restart keeps what a rule has seen, and where a destination is.
  await program.end('SIGTERM');
  received = '';
  const again = await serveForTest({ ...settings, SECRETS_KEY: newKey });
  await send(again, 'later');
  await waitFor(async () => received.includes('"later"'));
  expect(received).not.toContain('"mallory"');
  await waitFor(isOn('of-mallory'));

  await post(again, '/alert-rules/of-mallory/delete');
  await post(again, '/destinations/siem/delete');
  await waitFor(async () => !(await isOn('of-mallory')()));
  await waitFor(async () => {
    const row = await db
      .selectFrom('destinations')
      .select('lease_holder')
      .where('name', '=', 'siem')
      .execute();
    return row[0]?.lease_holder === null;
  });
  const log = JSON.stringify(await listActions(db, { limit: 100 }));
  const rows = JSON.stringify(await db.selectFrom('added_outputs').selectAll().execute());
  for (const text of [log, rows, program.output(), console.output(), again.output()]) {
    expect(text).not.toContain(TOKEN);
  }
}, 120_000);
