import { readMigrationState } from '../../../src/store/server/schema/migrate.ts';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { addDestination, recordFailure, setState } from '../../../src/store/destinations/destinations.ts';
import { freePort } from '../../support/free-port.ts';
import { readRange } from '../../../src/store/log/read-log.ts';
import { hasOpenssl, makeSignedCertificate } from '../../support/certificates.ts';
import { unguarded } from '../../support/database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { holderOf, takeLease } from '../../support/lease.ts';
import { endOfCommand } from '../../support/command.ts';
import { SECRET } from '../../support/program.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { databaseForTest } from '../../support/for-one-test.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { examine, like, ONLY_FSYNC, startCloud } from './examine.ts';

const directory = useDirectory();

describe('doctor', () => {
  it.skipIf(!hasOpenssl)('names everything that is wrong at once, and no secret', async () => {
    const { db, databaseUrl } = await databaseForTest();
    const cloud = await startCloud();
    const port = await freePort();
    using certificate = makeSignedCertificate(-1, 'DNS:localhost');
    const late = auditRecord({ timeStamp: Date.UTC(2001, 1, 1) });
    await storeDeliveries(
      db,
      queuedDelivery('AUDIT_LOG_ALL', [late], { unreadable: [{ reason: 'not JSON', content: 'e30=' }] }),
    );
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
      queue: like(/^fail the queue is not responding: .*ECONNREFUSED/),
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

  it('tells of migrations that are pending, and applies none', async () => {
    const { db, databaseUrl } = await databaseForTest();
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

  it('prints lines for a person, in colour only where it is wanted', async () => {
    const settings = { DATA_DIR: directory, DATABASE_URL: 'postgresql://127.0.0.1:1/x' };
    const plain = (await endOfCommand(settings, 'doctor')).stdout;
    expect(plain).toMatch(/^fail {5}database {8}.*ECONNREFUSED.*\n +-> check DATABASE_URL/m);
    expect(plain).toMatch(/\n\d+ ok, 1 fail, \d+ skipped\n$/);
    expect(plain).not.toContain('\u001b');
    vi.stubEnv('FORCE_COLOR', '1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const forced = (await endOfCommand(settings, 'doctor')).stdout;
    expect(forced).toContain('\u001b[31mfail');
  });
});
