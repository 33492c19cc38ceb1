import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { endOfCommand } from '../support/command.ts';
import { openSealedLog } from '../support/sealed-log.ts';
import { freely } from '../support/tamper.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase({ isVaried: true });
let directory: string;
let checkpoint: string;
beforeAll(async () => {
  const log = await openSealedLog(test.service);
  ({ directory } = log);
  checkpoint = path.join(directory, 'kept-checkpoint');
  await writeFile(checkpoint, (await log.seal()).note);
});

const run = (...words: string[]) =>
  endOfCommand({ DATABASE_URL: test.databaseUrl, DATA_DIR: directory }, 'verify', ...words);

it('everything is as it was stored, and what shows it is said', async () => {
  const { code, stdout } = await run('--full');
  expect(stdout).toMatch(/^\d+ intact, 0 expired, 0 erased, 0 ALTERED, 0 MISSING, 0 INSERTED/m);
  expect(stdout).toMatch(/^The tree has \d+ leaves and agrees with 1 checkpoint, the first of \d{4}-/m);
  expect(stdout).toMatch(/^They are signed with xiq-sink\//m);
  expect(stdout).toContain('anyone with the signing key could have rebuilt the log');
  expect(code).toBe(0);
});

it('a checkpoint that was kept elsewhere is compared, and must be of this log', async () => {
  const { code, stdout } = await run('--against', checkpoint);
  expect(stdout).toMatch(/It agrees with 1 of 1 anchor: \d+ leaves are anchored, 0 /);
  expect([code, stdout.includes('could have rebuilt')]).toEqual([0, false]);
  const nothing = await run('--against', path.join(directory, 'missing'));
  expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringMatching(/--against .*missing: .*ENOENT/)]);
});

it('the proof of one event is printed, or written with a receipt for its owner alone', async () => {
  const env = { DATABASE_URL: test.databaseUrl, DATA_DIR: directory };
  const { rows } = await sql<{ id: string }>`select event_id as id from audit_events limit 1`.execute(
    test.db,
  );
  const [{ id } = { id: '' }] = rows;
  const printed = await endOfCommand(env, 'prove', id, '--output', '-');
  expect(printed).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^c2sp.org\/tlog-proof@v1\n/) as unknown,
  });
  const output = path.join(directory, 'event.tlog-proof');
  const written = await endOfCommand(env, 'prove', id, '--output', output);
  expect(written.stderr).toMatch(/event\.tlog-proof: leaf \d+ of \d+ leaves\n.*event\.cose: a COSE receipt/);
  for (const name of ['event.tlog-proof', 'event.cose'])
    expect((await stat(path.join(directory, name))).mode & 0o777).toBe(0o600);
  const unknown = await endOfCommand(env, 'prove', id.replace(/^.{8}/, '00000000'));
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('There is no event')]);
});

it('what differs is named, and ends with 1', async () => {
  const { rows } = await sql<{ id: string }>`select event_id as id from audit_events limit 1`.execute(
    test.db,
  );
  const [{ id } = { id: '' }] = rows;
  await freely(test.db, (trx) =>
    sql`update audit_events set description = 'changed' where event_id = ${id}`.execute(trx),
  );
  const { code, stdout } = await run('--full');
  expect(stdout).toMatch(
    new RegExp(`^ALTERED event, ${id}, occurred \\d{4}-\\S+, source \\w+, .*leaf \\d+: `, 'm'),
  );
  expect(stdout).toContain('1 ALTERED');
  expect(code).toBe(1);
  const json = (await run('--full', '--json')).stdout.trim().split('\n');
  const lines = json.map((line): unknown => JSON.parse(line));
  expect(lines).toMatchObject([
    { state: 'ALTERED', eventId: id },
    { altered: 1, missing: 0 },
  ]);
});
