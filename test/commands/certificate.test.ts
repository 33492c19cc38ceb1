import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readLogKeys } from '../../src/seal/log-key.ts';
import { readSignedDocument } from '../../src/seal/signed-document.ts';
import { generateLogKey, parseLogKey } from '../../src/seal/signed-note.ts';
import { readInstallation } from '../../src/store/server/installation.ts';
import { integrityForTests } from '../console/integrity/integrity-for-tests.ts';
import { startAdmin, type RunningAdmin } from '../support/admin.ts';
import { countAll } from '../support/arrivals.ts';
import { openSealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';
import { endOfCommand } from '../support/command.ts';
import { waitFor } from '../support/wait-for.ts';
import { freely } from '../support/tamper.ts';

const MONTH = new Date().toISOString().slice(0, 'YYYY-MM'.length);

const test = useDatabase({ isVaried: true });
let directory: string;
beforeAll(async () => {
  await countAll(test.service);
  const log = await openSealedLog(test.service);
  await log.seal();
  ({ directory } = log);
});

const run = (...words: string[]) =>
  endOfCommand({ DATABASE_URL: test.databaseUrl, DATA_DIR: directory }, 'certificate', ...words);

it('says what was received in a month, how its rows compare with the seal, and with which checkpoint', async () => {
  const file = path.join(directory, 'certificate.html');
  expect(await run('--month', MONTH, '--out', file)).toMatchObject({ code: 0 });
  const document = await readFile(file, 'utf8');
  expect(document).toContain(`<h1>Certificate ${MONTH}</h1>`);
  expect(document).toMatch(/0 altered,\s+0 missing, 0 inserted/);
  expect(document).toContain(`xiq-sink/${(await readInstallation(test.service)).id}`);
  expect(document).toContain('The month is not over');
  // It needs nothing from elsewhere.
  expect(document).not.toMatch(/<script|src=|href=/);
  const { stdout } = await run('--month', MONTH, '--json');
  const certificate: unknown = JSON.parse(stdout);
  expect(certificate).toMatchObject({ month: MONTH, verification: { altered: 0, missing: 0 } });
  const { rows } = await sql<object>`
    select subject, outcome from operator_log where action = 'certificate.make'`.execute(test.service);
  expect(rows).toContainEqual({ subject: MONTH, outcome: 'done' });
});

describe('the file', () => {
  const check = (...words: string[]) => endOfCommand({}, 'verify-certificate', ...words);
  const file = () => path.join(directory, 'signed.html');
  beforeAll(async () => {
    await run('--month', MONTH, '--out', file());
  });

  it('is checked without a database, with the key that it names or another one', async () => {
    const { verifiers } = await readLogKeys(path.join(directory, 'log-key'));
    expect(verifiers).toHaveLength(1);
    const { code, stdout } = await check(file());
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(`certificate ${MONTH}, unchanged since it was signed`),
    ]);
    const stranger = parseLogKey(generateLogKey('xiq-sink/elsewhere')).publicText;
    const foreign = await check(file(), '--key', stranger);
    expect([foreign.code, foreign.stdout]).toEqual([1, expect.stringContaining('another key')]);
  });

  it('is not what was signed with any other character', async () => {
    const text = await readFile(file(), 'utf8');
    const at = fc.integer({ min: 0, max: text.lastIndexOf('— ') - 1 });
    fc.assert(
      fc.property(at, fc.constantFrom('0', 'x', ' ', '<'), (index, character) => {
        fc.pre(text[index] !== character);
        const forged = text.slice(0, index) + character + text.slice(index + 1);
        expect(() => readSignedDocument(forged, [])).toThrow(/signed|signature|public key/);
      }),
    );
    const forged = path.join(directory, 'forged.html');
    await writeFile(forged, text.replace(' altered', '  altered'));
    const { code, stdout } = await check(forged);
    expect([code, stdout]).toEqual([1, expect.stringContaining('NOT PROVEN: it was changed')]);
  });
});

it('is of a month and of a source', async () => {
  expect(await run('--month', '2026-13')).toMatchObject({ code: 2 });
  const { stdout } = await run('--month', '1999-01', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ received: [], verification: { altered: 0 } });
  const ofSource = await run('--month', MONTH, '--source', 'branch', '--json');
  const { received } = z
    .object({ received: z.array(z.object({ source: z.string() })) })
    .parse(JSON.parse(ofSource.stdout));
  expect(new Set(received.map(({ source }) => source))).toEqual(new Set(['branch']));
});

it('exits with 1, and says so, when rows were changed', async () => {
  await freely(test.db, (trx) =>
    sql`delete from audit_events where event_id in (select event_id from audit_events limit 2)`.execute(trx),
  );
  const { code, stdout } = await run('--month', MONTH);
  expect(code).toBe(1);
  expect(stdout).toMatch(/changed<\/span>/);
  expect(stdout).toMatch(/2 missing/);
});

describe('the page of the console', () => {
  let admin: RunningAdmin;
  beforeAll(async () => {
    const key = (await readLogKeys(path.join(directory, 'log-key'))).signing;
    admin = await startAdmin(integrityForTests(test.service, test.databaseUrl, key), test.service);
  });
  afterAll(() => admin.close());

  it('says that nothing was compared, before it was', async () => {
    const page = await admin.page(`/certificate?month=${MONTH}`);
    expect(page).toContain('were not compared for this page');
    expect(page).toContain('External copies, as the service recorded them');
    await expect(admin.page('/certificate?month=March')).rejects.toThrow('must be a month');
    await expect(admin.get(`/certificate?month=${MONTH}`)).rejects.toThrow('prove it first');
  });

  it('proves a month, and gives the signed document that verify-certificate accepts', async () => {
    await admin.post('/certificate/prove', { month: MONTH });
    const isDone = z.object({ verification: z.object({ state: z.literal('done') }) });
    await waitFor(async () => isDone.safeParse(await admin.get('/integrity/verification')).data);
    expect(await admin.page(`/certificate?month=${MONTH}`)).toMatch(/2 missing/);
    const file = path.join(directory, 'saved.html');
    const answer = await fetch(`${admin.url}/api/v1/certificate?month=${MONTH}`);
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
    await writeFile(file, await answer.text());
    expect(await readFile(file, 'utf8')).toMatch(/2 missing/);
    expect(await endOfCommand({}, 'verify-certificate', file)).toMatchObject({ code: 0 });
    // What was compared is of this month and all sources, and says nothing of others.
    await expect(admin.get(`/certificate?month=${MONTH}&source=branch`)).rejects.toThrow('prove it first');
    const { rows } = await sql<object>`
      select via, result -> 'missing' as missing from operator_log
      where action = 'certificate.make' and via = 'api'`.execute(test.service);
    expect(rows).toEqual([{ via: 'api', missing: 2 }]);
  });
});
