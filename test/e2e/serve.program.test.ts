import { rm } from 'node:fs/promises';
import { Queue } from 'bullmq';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLOUD_TYPES, type CloudType } from '../../src/events/domain.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { sumArrivals } from '../../src/store/counts/read-arrivals.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { startLoad } from '../support/load.ts';
import { postDelivery, SECRET, startProgram, temporaryDirectory, type Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

async function databaseOfItsOwn(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  return database;
}

async function dataDirectory(): Promise<string> {
  const directory = await temporaryDirectory();
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** The settings of a program on this backend, with an empty queue. */
async function settingsFor(usesRedis: boolean, databaseUrl: string): Promise<Record<string, string>> {
  return {
    DATABASE_URL: databaseUrl,
    DATA_DIR: await dataDirectory(),
    WEBHOOK_SECRET: SECRET,
    ...(usesRedis ? { REDIS_URL: await emptyRedis() } : {}),
  };
}

async function start(settings: Record<string, string>, ...args: string[]): Promise<Program> {
  const program = await startProgram(settings, ...args);
  onTestFinished(async () => void (await program.end('SIGKILL')));
  return program;
}

const storedNumbers = async ({ db }: Pick<TestDatabase, 'db'>) =>
  (await sql<{ user_id: string }>`select user_id from audit_log`.execute(db)).rows.map((row) =>
    Number(row.user_id),
  );

/** Every acknowledged record is in the table, and no record is in it twice. */
async function expectConserved(
  database: Pick<TestDatabase, 'db'>,
  acknowledged: readonly number[],
): Promise<void> {
  await waitFor(async () => {
    const stored = new Set(await storedNumbers(database));
    return acknowledged.every((number) => stored.has(number));
  });
  const stored = await storedNumbers(database);
  expect(new Set(stored).size).toBe(stored.length);
  const { rows } = await sql`select * from conservation where not adds_up`.execute(database.db);
  expect(rows).toEqual([]);
}

const SAMPLES: Readonly<Record<CloudType, object>> = {
  AUDIT_LOG_ALL: auditRecord(),
  LOCATION_AP_CENTRIC: { ownerId: '1', apMac: '001122334455', observations: [{ clientMac: 'aabbccddeeff' }] },
  LOCATION_CLIENT_CENTRIC: {
    clientMac: 'AABBCCDDEEFF',
    deviceObservers: [{ apMac: '001122334455', rssi: -50 }],
  },
  GDPR_LOG_ALL: { ownerId: 1, mac: 'AA:BB:CC:DD:EE:FF', admin: 'admin@example.com', status: 'DONE' },
  CREDENTIAL_LOG_ALL: { id: 1, username: 'guest', timeStamp: Date.now() },
  ACCOUNTING_LOG_ALL: {
    username: 'guest',
    callingStationId: 'AA-BB-CC-DD-EE-FF',
    acctInputOctets: '9007199254740993',
  },
  AUTHENTICATION_LOG_ALL: { username: 'guest', reply: 'Access-Reject', rejectReason: 'wrong password' },
  EMAIL_LOG_ALL: { username: 'guest', approverEmail: 'boss@example.com' },
  SMS_LOG_ALL: { tel: '+4912345', status: 'SEND_OUT' },
  ALERT: { id: 'a-1', timestamp: new Date().toISOString(), summary: 'Access point offline', severity_id: 1 },
};

describe.each(BACKENDS)('serve, $backend', ({ available, usesRedis }) => {
  it.skipIf(!available)('stores all message types, as arrays and as single objects', async () => {
    const database = await databaseOfItsOwn();
    const program = await start(await settingsFor(usesRedis, database.databaseUrl));
    for (const messageType of CLOUD_TYPES) {
      for (const body of [SAMPLES[messageType], [{ ...SAMPLES[messageType], id: 2 }]]) {
        const response = await postDelivery(program, messageType, body);
        // On a busy machine the queue may be slow to answer at first: the spool takes the delivery.
        const durability: unknown = expect.stringMatching(/^(?:queued|spooled)$/);
        expect(await response.json()).toMatchObject({ records: 1, quarantined: 0, durability });
      }
    }
    await waitFor(async () => {
      const { rows } = await sql`select message_type from events group by 1 having count(*) = 2`.execute(
        database.db,
      );
      return rows.length === CLOUD_TYPES.length;
    });
    await waitFor(async () => {
      const sums = await sumArrivals(database.db, ALL_SOURCES);
      return sums.length === CLOUD_TYPES.length && sums.every(({ deliveries }) => deliveries === 2);
    });
    const { rows } =
      await sql`select client_mac::text, acct_input_octets from accounting_log limit 1`.execute(database.db);
    expect(rows).toEqual([{ client_mac: 'aa:bb:cc:dd:ee:ff', acct_input_octets: '9007199254740993' }]);
  });

  it.skipIf(!available)(
    'keeps every acknowledged delivery through a kill -9 in the middle of a load',
    async () => {
      const database = await databaseOfItsOwn();
      const settings = await settingsFor(usesRedis, database.databaseUrl);
      let program = await start(settings);
      const load = startLoad(() => program.url);
      await waitFor(() => load.acknowledged() > 1_000);
      await program.end('SIGKILL');
      program = await start(settings);
      const before = load.acknowledged();
      await waitFor(() => load.acknowledged() > before + 500);
      await expectConserved(database, await load.stop());
    },
  );

  it.skipIf(!available)('finishes what it took and ends well on SIGTERM, within 10 s', async () => {
    const database = await databaseOfItsOwn();
    const settings = await settingsFor(usesRedis, database.databaseUrl);
    const program = await start(settings);
    const load = startLoad(() => program.url);
    await waitFor(() => load.acknowledged() > 300);
    const began = performance.now();
    expect(await program.end('SIGTERM')).toBe(0);
    expect(performance.now() - began).toBeLessThan(10_000);
    const acknowledged = await load.stop();
    await start(settings);
    await expectConserved(database, acknowledged);
  });
});

const redisAvailable = BACKENDS.some(({ usesRedis, available }) => usesRedis && available);

describe('serve with Redis', () => {
  it.skipIf(!redisAvailable)('stores all through a stop and start of Postgres under load', async () => {
    const directory = await dataDirectory();
    let postgres = await startEmbeddedPostgres(directory);
    onTestFinished(() => postgres.stop());
    const settings = await settingsFor(true, postgres.databaseUrl);
    const program = await start({ ...settings, MIGRATION_DATABASE_URL: postgres.migrationUrl });
    const load = startLoad(() => program.url);
    await waitFor(() => load.acknowledged() > 500);
    await postgres.stop();
    const before = load.acknowledged();
    await waitFor(() => load.acknowledged() > before + 2_000);
    postgres = await startEmbeddedPostgres(directory);
    const acknowledged = await load.stop();

    const db = openDatabase(postgres.databaseUrl, () => undefined);
    try {
      await expectConserved({ db }, acknowledged);
      expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    } finally {
      await db.destroy();
    }
    const queue = new Queue('deliveries', { connection: { url: settings['REDIS_URL'] ?? '' } });
    try {
      // Not one attempt was used up: no job is failed, delayed for another attempt, or left.
      expect(await queue.getJobCounts('failed', 'delayed', 'wait')).toEqual({
        failed: 0,
        delayed: 0,
        wait: 0,
      });
    } finally {
      await queue.close();
    }
    expect(program.output()).not.toContain('will be tried again');
  });

  it.skipIf(!redisAvailable)('runs ingest and workers as processes of their own', async () => {
    const database = await databaseOfItsOwn();
    const settings = await settingsFor(true, database.databaseUrl);
    const ingest = await start(settings, '--role', 'ingest');
    await start(settings, '--role', 'worker');
    await start(settings, '--role', 'worker');
    const load = startLoad(() => ingest.url);
    await waitFor(() => load.acknowledged() > 500);
    await expectConserved(database, await load.stop());
  });
});
