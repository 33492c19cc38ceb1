import { readMigrationState } from '../../../src/store/server/schema/migrate.ts';
import { once } from 'node:events';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { EMULATOR_LOGINS } from '../../../emulator/accounts.ts';
import { createEmulator } from '../../../emulator/emulator.ts';
import { BatchStore } from '../../../src/handlers/store-batch.ts';
import { addDestination, recordFailure, setState } from '../../../src/store/destinations/destinations.ts';
import { freePort } from '../../support/free-port.ts';
import { readRange } from '../../../src/store/log/read-log.ts';
import { fakeClockLibrary, fakeClockSettings, setClock } from '../../faults/clock.ts';
import { emptyRedis, BACKENDS } from '../../support/backends.ts';
import { hasOpenssl, makeSignedCertificate } from '../../support/certificates.ts';
import { createTestDatabase, unguarded, type TestDatabase } from '../../support/database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { holderOf, takeLease } from '../../support/lease.ts';
import { endOfProgram, SECRET, startProgram, temporaryDirectory } from '../../support/program.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { waitFor } from '../../support/wait-for.ts';

const { username, password } = EMULATOR_LOGINS.administrator;
const silent = pino({ level: 'silent' });

const directory = useDirectory();

async function createDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  return database;
}

async function startCloud(): Promise<{ CLOUD_API_URL: string }> {
  const emulator = createEmulator({ rate: 0 });
  const url = await emulator.listen(0);
  onTestFinished(() => emulator.close());
  return { CLOUD_API_URL: url };
}

const Line = z.object({
  check: z.string(),
  status: z.enum(['ok', 'warn', 'fail', 'skipped']),
  message: z.string(),
  remedy: z.string().nullable(),
});

/** What the doctor says of each thing, `STATUS MESSAGE`, and how it ends. */
async function examine(settings: Record<string, string>) {
  const { code, stdout, stderr } = await endOfProgram(settings, 'doctor', '--json');
  const lines = stdout.toString().split('\n').filter(Boolean);
  const found = lines.map((line) => Line.parse(JSON.parse(line)));
  // Whatever is not in order comes with what to do about it.
  const helpless = found.filter(({ status, remedy }) => /warn|fail/.test(status) && remedy === null);
  expect(helpless).toEqual([]);
  const told = Object.fromEntries(found.map(({ check, status, message }) => [check, `${status} ${message}`]));
  return { code, told, output: stdout.toString() + stderr };
}

const like = (pattern: RegExp): unknown => expect.stringMatching(pattern);

/** The tests' own server does not wait for the disk, and nothing else is wrong with it. */
const ONLY_FSYNC = /^(?:ok|warn Postgres [^:]*: fsync is off [^;]*; full_page_writes is off [^;]*$)/;

describe('doctor', () => {
  const backends = BACKENDS.filter(({ available }) => available);
  it.each(backends)('finds everything in order beside a running program, $backend', async ({ usesRedis }) => {
    const { databaseUrl, readerUrl } = await createDatabase();
    const cloud = await startCloud();
    const settings = {
      ...cloud,
      CLOUD_USERNAME: username,
      CLOUD_PASSWORD: password,
      DATABASE_URL: databaseUrl,
      READER_DATABASE_URL: readerUrl,
      ...(usesRedis ? { REDIS_URL: await emptyRedis() } : {}),
      DATA_DIR: path.join(directory, String(usesRedis)),
      WEBHOOK_SECRET: SECRET,
      FORWARD_TO: `file:${path.join(directory, 'events.jsonl')}`,
      PUBLIC_URL: `http://127.0.0.1:${await freePort()}`,
    };
    const port = new URL(settings.PUBLIC_URL).port;
    const program = await startProgram({ ...settings, PORT: port, SUBSCRIBE: 'auto' });
    onTestFinished(async () => void (await program.end('SIGKILL')));
    await waitFor(() => program.output().includes('subscriptions repaired'));
    const { code, told } = await examine(settings);
    expect(
      Object.entries(told).filter(([, text]) => !text.startsWith('ok ') && !ONLY_FSYNC.test(text)),
    ).toEqual([]);
    expect(told).toMatchObject({
      database: like(/Postgres \d+/),
      migrations: like(/all \d+ applied/),
      roles: 'ok xiq_sink and xiq_reader have only the rights they need',
      queue: like(usesRedis ? /in Redis: 0 batches waiting/ : /in Postgres: 0 batches waiting/),
      'cloud clock': like(/agrees/),
      api: like(/logs in as/),
      subscriptions: like(/^ok (?:9|10) subscriptions up to date/),
      'public address': like(/a firewall may still block/),
      'destination default': 'ok running, up to date',
    });
    expect(code).toBe(0);
  });

  it.skipIf(!hasOpenssl)('names everything that is wrong at once, and no secret', async () => {
    const { db, databaseUrl } = await createDatabase();
    const cloud = await startCloud();
    const port = await freePort();
    using certificate = makeSignedCertificate(-1, 'DNS:localhost');
    const store = new BatchStore(db, silent, new AbortController().signal);
    const late = auditRecord({ timeStamp: Date.UTC(2001, 1, 1) });
    await store.add({
      deliveries: [
        queuedDelivery('AUDIT_LOG_ALL', [late], { unreadable: [{ reason: 'not JSON', content: 'e30=' }] }),
      ],
    });
    await unguarded(db, (trx) => sql`delete from quarantine`.execute(trx));
    for (const name of ['siem', 'archive']) await addDestination(db, name, (await readRange(db)).next);
    await takeLease(db, 'siem');
    await recordFailure(db, holderOf('siem'), 'answered 401', 'refused');
    await setState(db, 'archive', 'paused');
    const dataDir = path.join(directory, 'wrong');
    await mkdir(path.join(dataDir, 'spool'), { recursive: true });
    await writeFile(path.join(dataDir, 'spool', 'x.segment.corrupt'), 'bytes');
    const file = path.join(directory, 'config.yaml');
    const destination = (name: string) => `{ name: ${name}, type: file, path: ${dataDir}/${name}.jsonl }`;
    await writeFile(file, `destinations: [${['siem', 'archive', 'new'].map(destination).join(', ')}]\n`);
    const url = new URL(databaseUrl);
    const { code, told, output } = await examine({
      ...cloud,
      CLOUD_USERNAME: username,
      CLOUD_PASSWORD: 'not-the-password',
      DATABASE_URL: databaseUrl,
      REDIS_URL: `redis://:password-of-redis@127.0.0.1:${port}`,
      DATA_DIR: dataDir,
      WEBHOOK_SECRET: SECRET,
      XIQ_SINK_CONFIG: file,
      TLS_CERT_FILE: certificate.certFile,
      TLS_KEY_FILE: certificate.keyFile,
      PUBLIC_URL: `http://localhost:${port}`,
      SPOOL_MIN_FREE_BYTES: String(2 ** 50),
    });
    expect(told).toMatchObject({
      database: like(ONLY_FSYNC),
      queue: like(/^fail the queue does not answer: .*ECONNREFUSED/),
      spool: like(/^warn .*set aside: .*x\.segment\.corrupt/),
      disk: like(/^fail .*less than SPOOL_MIN_FREE_BYTES/),
      certificate: like(/^fail .*expired on/),
      'public address': like(/^fail .*ECONNREFUSED/),
      'cloud clock': like(/^ok /),
      api: like(/^fail .*Invalid user name or password/),
      subscriptions: 'skipped needs api',
      conservation: like(/^fail does not add up: default AUDIT_LOG_ALL/),
      partitions: like(/^warn .*1 event in audit_events_default/),
      'destination siem': like(/^fail refused, .*: answered 401/),
      'destination archive': like(/^warn paused/),
      'destination new': like(/^warn not started/),
    });
    expect(code).toBe(1);
    for (const secret of [
      SECRET,
      'not-the-password',
      'password-of-redis',
      ...(url.password === '' ? [] : [url.password]),
    ])
      expect(output).not.toContain(secret);
  });

  it('warns about a data directory that other users can list', async () => {
    const dataDir = await temporaryDirectory();
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const stateAt = async (mode: number) => {
      await chmod(dataDir, mode);
      return (await examine({ DATA_DIR: dataDir })).told['data directory'];
    };
    expect(await stateAt(0o755)).toMatch(/^warn other users .*\(mode 755\)/);
    expect(await stateAt(0o700)).toMatch(/^ok .* has mode 700/);
    expect(await stateAt(0o711)).toMatch(/^ok /);
  });

  it('tells of migrations that are pending, and applies none', async () => {
    const { db, databaseUrl } = await createDatabase();
    await sql`delete from kysely_migration where name = '0008_outputs'`.execute(db);
    const settings = { DATABASE_URL: databaseUrl, DATA_DIR: directory };
    const { code, told } = await examine(settings);
    expect(told).toMatchObject({
      migrations: like(/^fail \d+ applied, 1 pending: 0008_outputs/),
      conservation: 'skipped needs migrations',
      queue: 'skipped needs migrations',
      clock: like(/^ok/),
    });
    expect(code).toBe(1);
    expect((await readMigrationState(db)).pending).toEqual(['0008_outputs']);
  });

  it('waits for nobody longer than its time', async () => {
    const silentServer = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void silentServer.close());
    await once(silentServer, 'listening');
    const address = silentServer.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const started = performance.now();
    const { code, told } = await examine({
      DATABASE_URL: `postgresql://127.0.0.1:${port}/x`,
      REDIS_URL: `redis://127.0.0.1:${port}`,
      CLOUD_API_URL: `http://127.0.0.1:${port}`,
      CLOUD_API_TOKEN: 'abcdefghijklmnop',
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      DATA_DIR: directory,
    });
    const late = 'fail no answer within 5 s';
    expect(told).toMatchObject({
      database: late,
      queue: late,
      'cloud clock': late,
      'public address': late,
      clock: 'skipped needs database',
      api: 'skipped needs cloud clock',
    });
    expect(code).toBe(1);
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  it('lists every wrong setting, and ends with 2', async () => {
    const { code, told, output } = await examine({ PORT: 'x', DATA_DIR: directory, SUBSCRIBE: 'maybe' });
    expect(code).toBe(2);
    expect(output).toContain('PORT must be a whole number');
    expect(told).toEqual({
      configuration: like(/^fail SUBSCRIBE must be one of/),
      'all others': 'skipped needs configuration',
    });
    const wrongDestination = await examine({ DATA_DIR: directory, FORWARD_TO: 'gopher://x' });
    expect(wrongDestination).toMatchObject({ code: 2, told: { configuration: like(/^fail FORWARD_TO/) } });
  });

  it('sets nothing up, and starts an embedded database that is there for its time', async () => {
    const dataDir = await temporaryDirectory();
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const { code, told } = await examine({ DATA_DIR: dataDir });
    expect(told['database']).toBe('warn not created yet');
    expect(code).toBe(0);
    expect(await readdir(dataDir)).toEqual([]);

    await endOfProgram({ DATA_DIR: dataDir }, 'migrate');
    expect((await examine({ DATA_DIR: dataDir })).told).toMatchObject({
      database: like(/^ok Postgres .*, runs as \w/),
      queue: like(/^ok in Postgres/),
      partitions: like(/^warn \d+ partitions missing/),
    });
    expect(await readdir(path.join(dataDir, 'postgres', 'cluster'))).not.toContain('postmaster.pid');
  });

  it.skipIf(fakeClockLibrary() === undefined)('tells of a clock that is wrong', async () => {
    const { databaseUrl } = await createDatabase();
    const settings = {
      DATABASE_URL: databaseUrl,
      DATA_DIR: directory,
      ...(await startCloud()),
      CLOUD_API_TOKEN: 'abcdefghijklmnop',
    };
    const clockFile = path.join(directory, 'clock');
    await setClock(clockFile, 3_600);
    const { told } = await examine({
      ...settings,
      ...fakeClockSettings(fakeClockLibrary() ?? '', clockFile),
    });
    expect(told).toMatchObject({
      clock: like(/^fail (?:59 min 59 s|1 h) ahead of the database's/),
      'cloud clock': like(/^fail (?:59 min 59 s|1 h) ahead of the cloud's/),
    });
  });

  it('prints lines for a person, in colour only where it is wanted', async () => {
    const settings = { DATA_DIR: directory, DATABASE_URL: 'postgresql://127.0.0.1:1/x' };
    const plain = (await endOfProgram(settings, 'doctor')).stdout.toString();
    expect(plain).toMatch(/^fail {5}database {8}.*ECONNREFUSED.*\n +-> check DATABASE_URL/m);
    expect(plain).toMatch(/\n\d+ ok, 1 fail, \d+ skipped\n$/);
    expect(plain).not.toContain('\u001b');
    const forced = (await endOfProgram({ ...settings, FORCE_COLOR: '1' }, 'doctor')).stdout.toString();
    expect(forced).toContain('\u001b[31mfail');
  });
});
