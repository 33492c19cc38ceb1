import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { MIGRATION_ADVISORY_LOCK_KEY } from 'bullmq';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { maintainPartitions } from '../../src/store/partitions/partitions.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { SECRET, startProgram, temporaryDirectory, type Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { ATTACK_SECONDS, MOST_MS, measureDeliveries, printMeasured } from './measure.ts';

let database: TestDatabase;
let directory: string;
let reader: Client;
let program: Program | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
  directory = await temporaryDirectory();
  reader = new Client({ connectionString: database.adminUrl, application_name: 'attacker' });
  await reader.connect();
  await reader.query('set role xiq_reader');
});
afterEach(async () => {
  await reader.end();
  await program?.end('SIGTERM');
  program = undefined;
  await database.drop();
  await rm(directory, { recursive: true, force: true });
});

const start = async (settings: Readonly<Record<string, string>> = {}) => {
  program = await startProgram({
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
    ...settings,
  });
  return program;
};

/** `xiq_reader` may not do the following. Other roles may, and the reader of a database whose roles no superuser has prepared. */
const becomeUnprepared = () => reader.query('reset role');

const sleepOf = () => reader.query(`select pg_sleep(${ATTACK_SECONDS})`);

const readiness = async ({ url }: Program) =>
  z.object({ checks: z.record(z.string(), z.string()) }).parse(await (await fetch(`${url}/readyz`)).json());

describe('a session that reads', () => {
  it('does not stop forwarding by a transaction with an id', async () => {
    const file = path.join(directory, 'events.ndjson');
    const running = await start({ FORWARD_TO: `file://${file}` });
    await becomeUnprepared();
    await reader.query('begin');
    await reader.query('select pg_current_xact_id()');
    let ended = false;
    const attack = sleepOf().then(() => (ended = true));
    const measured = await measureDeliveries(running, attack);

    const began = performance.now();
    const response = await fetch(`${running.url}/ingest/default/AUDIT_LOG_ALL`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}` },
      body: JSON.stringify([auditRecord({ userId: 987_654_321 })]),
    });
    expect(response.status).toBe(200);
    // The transaction is still open.
    await waitFor(async () => (await readFile(file, 'utf8').catch(() => '')).includes('987654321'));
    const lag = performance.now() - began;
    printMeasured(
      `a reader with a transaction id: forwarded after ${lag.toFixed(0)} ms`,
      measured,
      'nothing forwarded for its 75 s',
    );
    expect(ended).toBe(true);
    expect(lag).toBeLessThan(2_000);
    expect(measured.p99).toBeLessThan(MOST_MS);
    await reader.query('rollback');
  });

  it('does not delay a start by advisory locks', async () => {
    await becomeUnprepared();
    await reader.query('begin');
    const keys = [0x78697169, 0x78697170, '3853314791062309107'];
    await reader.query('select pg_advisory_lock(key) from unnest($1::bigint[]) as key', [keys]);
    await reader.query(
      `select pg_advisory_lock(key, hashtext(name)) from (values ($1::int, 'bullmq'), ($2::int, 'default')) as pair (key, name)`,
      [MIGRATION_ADVISORY_LOCK_KEY, 0x78697173],
    );
    const began = performance.now();
    const running = await start();
    const seconds = (performance.now() - began) / 1_000;
    const measured = await measureDeliveries(running, sleepOf());
    printMeasured(
      `a reader with all advisory locks: started in ${seconds.toFixed(1)} s`,
      measured,
      'serve refused to start; a start took 35 s',
    );
    expect(seconds).toBeLessThan(10);
    expect(measured.p99).toBeLessThan(MOST_MS);
    expect((await readiness(running)).checks['queue']).toBe('ok');
  });

  it('delays neither start, storing nor console by a long select, but retention alone, and is named', async () => {
    const old = 'audit_events_2020_03';
    const keepAll = { audit: undefined, location: undefined, log: undefined };
    const service = openDatabase(database.databaseUrl, () => undefined);
    await maintainPartitions(service, new Date('2020-03-10T00:00:00Z'), keepAll);
    await service.destroy();
    await reader.query('begin');
    await reader.query('select count(*) from events');
    const began = performance.now();
    const running = await start({ RETENTION_AUDIT_MONTHS: '12' });
    const seconds = (performance.now() - began) / 1_000;
    let slowestPage = 0;
    const over = new AbortController();
    const browse = async () => {
      while (!over.signal.aborted) {
        const asked = performance.now();
        const page = await fetch(`${running.adminUrl}/events`);
        await page.text();
        expect(page.status).toBe(200);
        slowestPage = Math.max(slowestPage, performance.now() - asked);
      }
    };
    const browsing = browse();
    const attack = sleepOf().finally(() => over.abort());
    const measured = await measureDeliveries(running, attack);
    await browsing;
    printMeasured(
      `a reader with a long select: started in ${seconds.toFixed(1)} s, slowest page ${slowestPage.toFixed(0)} ms`,
      measured,
      'console dead for 86 s',
    );
    expect(seconds).toBeLessThan(10);
    expect(slowestPage).toBeLessThan(2_000);
    expect(measured.p99).toBeLessThan(MOST_MS);
    expect((await readiness(running)).checks['locks']).toBe('waiting');
    expect(running.output()).toMatch(
      new RegExp(`maintenance waits to drop ${old}, because audit_events is in use: pid \\d+ \\(attacker,`),
    );
    await waitFor(async () => {
      const { rows } = await reader.query('select count(*)::int as stored from audit_events');
      return z.object({ stored: z.number() }).parse(rows[0]).stored === measured.deliveries;
    });
    await reader.query('rollback');
    await waitFor(async () => {
      const { rows } = await reader.query('select to_regclass($1) is null as gone', [old]);
      return z.object({ gone: z.boolean() }).parse(rows[0]).gone;
    });
  });
});
