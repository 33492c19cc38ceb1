import { stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { parseCheckpoints } from '../../src/seal/checkpoint.ts';
import { latestCheckpoint } from '../../src/store/seal/seal-log.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { auditRecord } from '../support/deliveries.ts';
import { endOfProgram, SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

it('a running service seals what it stores, with a key that it makes, and verify agrees', async () => {
  const settings = {
    DATABASE_URL: test.databaseUrl,
    DATA_DIR: await temporaryDirectory(),
    WEBHOOK_SECRET: SECRET,
    LOG_LEVEL: 'debug',
  };
  const program = await startProgram(settings);
  const records = Array.from({ length: 30 }, (_, code) => auditRecord({ code }));
  const response = await fetch(`${program.url}/ingest/default/AUDIT_LOG_ALL`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRET}` },
    body: JSON.stringify(records),
  });
  expect(response.status).toBe(200);
  const stored = await waitFor(() => latestCheckpoint(test.db));
  expect(parseCheckpoints(stored.note)).toHaveLength(1);
  expect(program.output()).toContain(stored.publicKey);
  expect((await stat(path.join(settings.DATA_DIR, 'log-key'))).mode & 0o777).toBe(0o600);
  // Beside the events, the tree has what the program recorded of its start.
  const { code } = await waitFor(async () => {
    const ended = await endOfProgram(settings, 'verify');
    return /3\d intact/.test(ended.stdout.toString()) ? ended : undefined;
  });
  expect(code).toBe(0);
  await program.end('SIGTERM');
});

it('two installations witness each other with one setting each, and verify says so', async () => {
  const start = async (settings: Record<string, string>) => {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    const own = {
      DATABASE_URL: database.databaseUrl,
      DATA_DIR: await temporaryDirectory(),
      WEBHOOK_SECRET: SECRET,
      ...settings,
    };
    const program = await startProgram(own);
    const { publicKey } = await waitFor(() => latestCheckpoint(database.db));
    await program.end('SIGTERM');
    return { own, database, witness: `${publicKey} http://127.0.0.1:${settings['PORT']}` };
  };
  const ports = await Promise.all([freePort(), freePort()]);
  const [one, other] = [await start({ PORT: String(ports[0]) }), await start({ PORT: String(ports[1]) })];
  const running = [
    await startProgram({ ...one.own, WITNESSES: other.witness }),
    await startProgram({ ...other.own, WITNESSES: one.witness }),
  ];
  for (const { own, database, witness } of [
    { ...one, witness: other.witness },
    { ...other, witness: one.witness },
  ]) {
    const [name = ''] = witness.split('+');
    await waitFor(async () => {
      const { note } = (await latestCheckpoint(database.db)) ?? {};
      return note?.includes(`\n— ${name} `) === true ? note : undefined;
      // The first attempt may come before the other one listens; the next comes a minute later.
    }, 90_000);
    const { stdout, code } = await endOfProgram({ ...own, WITNESSES: witness }, 'verify');
    expect(stdout.toString()).toMatch(
      new RegExp(`The witness ${name} has signed \\d+ leaves, the last time at 2`),
    );
    expect(stdout.toString()).not.toContain('could have rebuilt the log');
    expect(code).toBe(0);
  }
  for (const program of running) await program.end('SIGTERM');
}, 240_000);
