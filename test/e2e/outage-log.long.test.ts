import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createOwnedDatabase, serverUrl } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { postDelivery, type Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { directoryForTest, serveForTest } from '../support/for-one-test.ts';

const OTHERS = ['ingest', 'forward', 'console'];
const OUTAGE_MS = 60_000;

const Line = z.object({ level: z.number(), msg: z.string() });

/** The lines of the log, without those of single batches. */
const linesOf = (program: Program) =>
  program
    .output()
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [Line.parse(JSON.parse(line))] : []))
    // The tests' own server does not wait for the disk, which it is warned of.
    .filter(({ msg }) => !/^batch |^(?:fsync|full_page_writes) is off/.test(msg));

const checksOf = async ({ url }: Program) =>
  z.object({ checks: z.record(z.string(), z.string()) }).parse(await (await fetch(`${url}/readyz`)).json())
    .checks;

it('a first start together is silent, and a read-only database costs each process ten lines at most', async () => {
  const database = await createOwnedDatabase();
  onTestFinished(() => database.drop());
  const start = async (role: string) => {
    const DATA_DIR = await directoryForTest();
    const FORWARD_TO = `file://${path.join(DATA_DIR, 'out.jsonl')}`;
    return serveForTest({ DATABASE_URL: database.databaseUrl, DATA_DIR, FORWARD_TO }, '--role', role);
  };
  const [first, others] = await Promise.all([start('all'), Promise.all(OTHERS.map(start))]);
  const programs = [first, ...others];
  await waitFor(async () => (await checksOf(first))['start'] === 'ok');
  // The tests' server need not survive a crash, which each process may say.
  const isTold = ({ level, msg }: z.infer<typeof Line>) => level > 30 && !msg.includes('is off in Postgres');
  for (const program of programs) expect(linesOf(program).filter(isTold)).toEqual([]);

  const name = new URL(database.databaseUrl).pathname.slice(1);
  // Of another database, where its sessions may write.
  const admin = new Client({ connectionString: serverUrl() });
  await admin.connect();
  onTestFinished(() => admin.end());
  const become = async (change: string) => {
    await admin.query(`alter database ${name} ${change}`);
    await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  };
  const before = programs.map((program) => linesOf(program).length);
  await become('set default_transaction_read_only = on');
  let sent = 0;
  for (const end = performance.now() + OUTAGE_MS; performance.now() < end; sent += 1) {
    expect((await postDelivery(first, 'AUDIT_LOG_ALL', [auditRecord({ userId: sent })])).status).toBe(200);
    await sleep(100);
  }
  for (const [index, program] of programs.entries()) {
    expect((await checksOf(program))['database']).toBe('read-only');
    expect(linesOf(program).slice(before[index]).slice(10)).toEqual([]);
  }
  const overview = await (await fetch(`${first.adminUrl}/api/v1/overview`)).text();
  expect(overview).toContain('no events, destination positions, logins or changes can be written');

  await become('reset default_transaction_read_only');
  const count = sql<{ events: number }>`select count(*)::int as events from audit_events`;
  await waitFor(async () => (await count.execute(database.admin)).rows[0]?.events === sent, 60_000);
  await waitFor(() => linesOf(first).some(({ msg }) => /^no longer fails: .*read-only/.test(msg)));
  await waitFor(async () => (await checksOf(first))['database'] === 'ok');
});
