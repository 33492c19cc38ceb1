import { expect, it } from 'vitest';
import { latestCheckpoint } from '../../src/store/seal/seal-log.ts';
import { freePort } from '../support/free-port.ts';
import { endOfProgram, SECRET } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { databaseForTest, directoryForTest, serveForTest } from '../support/for-one-test.ts';

it('two installations witness each other with one setting each, and verify says so', async () => {
  const start = async (settings: Record<string, string>) => {
    const database = await databaseForTest();
    const own = {
      DATABASE_URL: database.databaseUrl,
      DATA_DIR: await directoryForTest(),
      WEBHOOK_SECRET: SECRET,
      ...settings,
    };
    const program = await serveForTest(own);
    const { publicKey } = await waitFor(() => latestCheckpoint(database.db));
    await program.end('SIGTERM');
    return { own, database, witness: `${publicKey} http://127.0.0.1:${settings['PORT']}` };
  };
  const ports = await Promise.all([freePort(), freePort()]);
  const [one, other] = [await start({ PORT: String(ports[0]) }), await start({ PORT: String(ports[1]) })];
  await serveForTest({ ...one.own, WITNESSES: other.witness });
  await serveForTest({ ...other.own, WITNESSES: one.witness });
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
}, 240_000);
