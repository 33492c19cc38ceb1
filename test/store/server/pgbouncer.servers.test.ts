import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Engine } from '../../../src/archive/engine.ts';
import { DirectoryFiles } from '../../../src/archive/files/directory-files.ts';
import { ArchiveReader } from '../../../src/archive/read-archive.ts';
import { isPooled } from '../../../src/store/server/postgres.ts';
import { createRoles } from '../../../src/store/server/roles/create-roles.ts';
import { openLimited } from '../../../src/store/server/database.ts';
import { BACKENDS, emptyRedis } from '../../support/backends.ts';
import { createOwnedDatabase, serverUrl } from '../../support/database.ts';
import { auditRecord } from '../../support/deliveries.ts';
import { cloudSettings, emulatorForTest } from '../../support/emulator.ts';
import { databaseForTest, directoryForTest, serveForTest } from '../../support/for-one-test.ts';
import { freePort } from '../../support/free-port.ts';
import { hasPgbouncer, startPgbouncer } from '../../support/pgbouncer.ts';
import { endOfProgram, postDelivery, runProgram, SECRET } from '../../support/program.ts';
import { READER_ROLE, SERVICE_ROLE, withRole } from '../../support/roles.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A database with its roles, but without tables. */
async function emptyDatabase() {
  const owned = await createOwnedDatabase();
  onTestFinished(() => owned.drop());
  const adminUrl = new URL(serverUrl());
  adminUrl.pathname = new URL(owned.databaseUrl).pathname;
  const databaseUrl = withRole(owned.databaseUrl, SERVICE_ROLE);
  const readerUrl = withRole(owned.databaseUrl, READER_ROLE);
  await createRoles(adminUrl.href, { databaseUrl, readerUrl });
  return { databaseUrl, readerUrl, db: owned.admin };
}

/** The session of a new client has nothing that another client has set. */
async function expectCleanSessions(databaseUrl: string, user: string) {
  const clients = Array.from({ length: 8 }, () => new Client({ connectionString: databaseUrl }));
  for (const client of clients) await client.connect();
  try {
    // In transactions at the same time, so that each has another session of the server.
    for (const client of clients) {
      await client.query('begin');
      const { rows } = await client.query(`select current_user as user,
        current_setting('statement_timeout') as statement, current_setting('search_path') as path,
        current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle`);
      expect(rows).toEqual([{ user, statement: '0', path: '"$user", public', lock: '0', idle: '0' }]);
    }
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

const MODES = ['session', 'transaction'] as const;
const VARIANTS = MODES.flatMap((mode) =>
  BACKENDS.filter(({ available }) => available).flatMap((backend) => [
    { mode, ...backend, hasDirect: false, with: 'without a direct address' },
    ...(mode === 'transaction' ? [{ mode, ...backend, hasDirect: true, with: 'with a direct address' }] : []),
  ]),
);

describe.skipIf(!hasPgbouncer())('pgbouncer (needs pgbouncer)', () => {
  it.each(MODES)('is told from a server: %s mode', async (mode) => {
    const { databaseUrl, readerUrl } = await emptyDatabase();
    const pooler = await startPgbouncer({ mode, urls: [databaseUrl, readerUrl] });
    onTestFinished(() => pooler.stop());
    expect(await isPooled(pooler.through(databaseUrl))).toBe(true);
    expect(await isPooled(databaseUrl)).toBe(false);
  });

  it.each(VARIANTS)('$mode mode, $backend, $with', async ({ mode, usesRedis, hasDirect }) => {
    const { databaseUrl, readerUrl, db } = await emptyDatabase();
    const pooler = await startPgbouncer({
      mode,
      urls: [databaseUrl, readerUrl],
      settings: { max_client_conn: '200', default_pool_size: mode === 'session' ? '43' : '9' },
    });
    onTestFinished(() => pooler.stop());
    const directory = await directoryForTest();
    const { url: cloudUrl } = await emulatorForTest();
    const port = String(await freePort());
    const events = path.join(directory, 'events.jsonl');
    const settings = {
      DATABASE_URL: pooler.through(databaseUrl),
      READER_DATABASE_URL: pooler.through(readerUrl),
      ...(hasDirect ? { DATABASE_DIRECT_URL: databaseUrl } : {}),
      ...(usesRedis ? { REDIS_URL: await emptyRedis() } : {}),
      DATA_DIR: path.join(directory, 'data'),
      WEBHOOK_SECRET: SECRET,
      FORWARD_TO: `file:${events}`,
      ...cloudSettings(cloudUrl),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
    };

    await runProgram(settings, 'migrate');
    const program = await serveForTest({ ...settings, PORT: port, SUBSCRIBE: 'auto' });
    let sent = 0;
    const send = async () => {
      sent += 1;
      const { status } = await postDelivery(program, 'AUDIT_LOG_ALL', [
        // Received in the same millisecond, it would look like one without a time.
        auditRecord({ userId: sent, timeStamp: Date.now() - 1_000 }),
      ]);
      expect(status).toBe(200);
    };
    const stored = async () =>
      Number((await sql<{ n: string }>`select count(*) as n from audit_log`.execute(db)).rows[0]?.n);
    for (let round = 0; round < 40; round += 1) await Promise.all(Array.from({ length: 10 }, send));
    await waitFor(async () => (await stored()) === sent);
    // Beside an idle worker, too.
    for (let round = 0; round < 3; round += 1) {
      const began = performance.now();
      await send();
      await waitFor(async () => (await stored()) === sent);
      expect(performance.now() - began).toBeLessThan(2_000);
    }
    const forwarded = () =>
      readFile(events, 'utf8').then(
        // Entries of the operator log and checkpoints are forwarded, too, and may name the type.
        (text) => text.split('\n').filter((line) => line.includes('"message_type":"AUDIT_LOG_ALL"')).length,
        () => 0,
      );
    await waitFor(async () => (await forwarded()) === sent);

    for (const page of ['/', '/events', '/deliveries', '/destinations', '/quarantine', '/settings']) {
      const response = await fetch(program.adminUrl + page);
      expect([page, response.status]).toEqual([page, 200]);
    }
    await waitFor(() => program.output().includes('subscriptions repaired'));
    const count = await runProgram(settings, 'sql', '--csv', 'select count(*) from audit_log');
    expect(count).toBe(`count\r\n${sent}\r\n`);
    const found = await runProgram(settings, 'events', 'search', '--json', '--limit', '5');
    expect(found.trim().split('\n')).toHaveLength(5);
    expect(await runProgram(settings, 'destinations', 'list', '--json')).toContain('"running"');
    expect(await runProgram(settings, 'subscribe', 'plan')).toContain(', 10 unchanged');
    const { stdout } = await endOfProgram(settings, 'doctor', '--json');
    const failed = stdout
      .toString()
      .split('\n')
      .filter((line) => /"status":"(?:warn|fail)"/.test(line))
      // The server of the tests does not wait for its disk, and these programs have one log-in.
      .filter((line) => !/fsync is off|set MIGRATION_DATABASE_URL/.test(line));
    expect(failed).toEqual([]);

    await expectCleanSessions(settings.DATABASE_URL, SERVICE_ROLE);
    expect(await program.end('SIGTERM')).toBe(0);
    expect(program.output()).not.toContain('unsupported startup parameter');
  });

  it('gives no session to read the archive with, and says so', async () => {
    const database = await databaseForTest();
    const pooler = await startPgbouncer({ mode: 'transaction', urls: [database.databaseUrl] });
    onTestFinished(() => pooler.stop());
    const directory = await directoryForTest();
    await using engine = new Engine(directory);
    const files = new DirectoryFiles(directory);
    const open = (databaseUrl: string) =>
      ArchiveReader.open({ db: database.db, databaseUrl, files, engine, instead: { files: [] } });
    await expect(open(pooler.through(database.databaseUrl))).rejects.toThrow('Set DATABASE_DIRECT_URL');
    await using reader = await open(database.databaseUrl);
    expect(reader).toBeDefined();
  });

  it.each(MODES)('keeps the limits of a transaction and of a single statement, %s mode', async (mode) => {
    const database = await databaseForTest();
    const pooler = await startPgbouncer({ mode, urls: [database.databaseUrl] });
    onTestFinished(() => pooler.stop());
    const url = pooler.through(database.databaseUrl);
    const db = openLimited('storing', url, () => undefined, { statementMs: 300, silenceMs: 700 });
    onTestFinished(() => db.destroy());
    const cancelled = { code: '57014' };
    await expect(sql`select pg_sleep(5)`.execute(db)).rejects.toMatchObject(cancelled);
    const slow = db.transaction().execute((trx) => sql`select pg_sleep(5)`.execute(trx));
    await expect(slow).rejects.toMatchObject(cancelled);
    // The connections go on.
    const { rows } = await sql`select current_setting('statement_timeout') as timeout`.execute(db);
    expect(rows).toEqual([{ timeout: '300ms' }]);
    // A client that stays away in its transaction loses it, and the row that it has locked.
    const idle = db.transaction().execute(async (trx) => {
      await sql`select from locks for update`.execute(trx);
      await waitFor(async () => {
        const { rows: locks } = await sql`select from locks for update skip locked`.execute(database.db);
        return locks.length > 0;
      });
      await sql`select 1`.execute(trx);
    });
    await expect(idle).rejects.toThrow(/connection|terminat/i);
    await expectCleanSessions(url, SERVICE_ROLE);
  });
});
