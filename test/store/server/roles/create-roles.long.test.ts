import { rm } from 'node:fs/promises';
import path from 'node:path';
import { promises as fs } from 'node:fs';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createDataDirectory,
  openCluster,
  startServer,
  stopServer,
  type Cluster,
} from '../../../../src/embedded/cluster.ts';
import { bootstrapUrl, DATABASE, keepCredentials } from '../../../../src/embedded/credentials.ts';
import { startEmbeddedPostgres } from '../../../../src/embedded/embedded-postgres.ts';
import { toBatch } from '../../../../src/queue/delivery-batch.ts';
import { createPostgresEngine, migrateQueue } from '../../../../src/queue/postgres-engine.ts';
import { loadSettings } from '../../../../src/serve/load-settings.ts';
import { prepareStore } from '../../../../src/serve/open-store.ts';
import { openDatabase, type Db } from '../../../../src/store/server/database.ts';
import { migrateStore } from '../../../../src/store/server/schema/migrate.ts';
import { maintainPartitions } from '../../../../src/store/partitions/partitions.ts';
import { repairReaders } from '../../../../src/store/server/roles/limit-readers.ts';
import { readOnlyQuery } from '../../../../src/store/server/read-only-query.ts';
import { createLogger } from '../../../../src/lib/logger.ts';
import { temporaryDirectory } from '../../../support/program.ts';

const EVENTS = ['audit_events', 'location_observations', 'log_entries'];

async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A server of its own, and the connection string of its first superuser. */
async function startOldServer(directory: string): Promise<{ cluster: Cluster; url: URL }> {
  const cluster = await openCluster(directory);
  const credentials = await keepCredentials(cluster.home);
  await createDataDirectory(cluster, credentials.bootstrapPassword);
  const options = [`-p ${credentials.port}`, '-c listen_addresses=127.0.0.1', '-c unix_socket_directories='];
  await startServer(cluster, options, 60);
  await run(bootstrapUrl(credentials, 'postgres'), `create database ${DATABASE}`);
  return { cluster, url: new URL(bootstrapUrl(credentials)) };
}

/** Around the month that the old database was used in. */
const OLD_MONTHS = ['2001_01', '2001_02', '2001_03', '2001_04', '2001_05'];

/** Makes the tables as a superuser that is also the service. With data in them. */
async function fillOldDatabase(url: string): Promise<void> {
  const db = openDatabase(url, () => undefined);
  await migrateStore(db);
  await migrateQueue(url);
  await maintainPartitions(db, new Date('2001-02-15'), {});
  await storeRows(db);
  await addJob(url);
  await db.destroy();
}

async function storeRows(db: Db): Promise<void> {
  for (const table of EVENTS) {
    await sql`
      insert into ${sql.id(table)}
        (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
      values (now(), now(), gen_random_uuid(), gen_random_uuid(), 's', 'AUDIT_LOG_ALL', 'webhook', '{}')`.execute(
      db,
    );
  }
  await sql`
    insert into quarantine (quarantine_id, delivery_id, received_at, source, message_type, reason, content)
    values (gen_random_uuid(), gen_random_uuid(), now(), 's', 'AUDIT_LOG_ALL', 'not JSON', 'x')`.execute(db);
  await sql`
    insert into operator_log (operator, via, action) values ('me', 'command', 'events.export')`.execute(db);
}

/** Adds a job to the queue in Postgres. Returns how many are waiting. */
async function addJob(url: string): Promise<number> {
  const connected = createPostgresEngine({ databaseUrl: url }).connectProducer('q', {}, () => undefined);
  const { bullmq } = connected;
  await bullmq.add('batch', toBatch([]), {});
  const waiting = await bullmq.getJobCountByTypes('wait');
  await bullmq.close();
  await connected.disconnect();
  return waiting;
}

/** Checks a database whose roles were made for its objects of before. */
async function expectMigrated(urls: { databaseUrl: string; readerUrl: string }, admin: URL): Promise<void> {
  const db = openDatabase(urls.databaseUrl, () => undefined);
  try {
    const { rows: owners } = await sql`
      select nspname as schema, relowner::regrole::text as owner
        from pg_class join pg_namespace on pg_namespace.oid = relnamespace
        where nspname in ('public', 'bullmq') and relkind in ('r', 'p', 'v', 'S', 'i')
        group by 1, 2 order by 1`.execute(db);
    expect(owners).toEqual([
      { schema: 'bullmq', owner: 'xiq_sink' },
      { schema: 'public', owner: 'xiq_owner' },
    ]);
    const { rows: routines } = await sql`
      select distinct nspname as schema, proowner::regrole::text as owner
        from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
        where nspname in ('public', 'bullmq') order by 1`.execute(db);
    expect(routines).toEqual(owners);
    const { rows: open } = await sql`
      select tgrelid::regclass::text, tgname from pg_trigger
        where not tgisinternal and tgenabled <> 'A' and tgrelid::regclass::text not like 'bullmq.%'`.execute(
      db,
    );
    expect(open).toEqual([]);

    // The service goes on with the rows and the jobs of before.
    await storeRows(db);
    await sql`update quarantine set resolution = 'discarded', resolved_at = now(), content = '', discarded_bytes = 1`.execute(
      db,
    );
    await sql`update operator_log set outcome = 'done', ended_at = now()`.execute(db);
    for (const table of [...EVENTS, 'quarantine', 'operator_log']) {
      const { rows } = await sql<{ count: string }>`select count(*) from ${sql.id(table)}`.execute(db);
      expect([table, rows[0]?.count]).toEqual([table, '2']);
    }
    expect(await addJob(urls.databaseUrl)).toBe(2);
    const inOneYear = new Date(Date.now() + 365 * 86_400_000);
    const { created } = await maintainPartitions(db, inOneYear, {});
    expect(created.length).toBeGreaterThan(10);
    const { dropped } = await maintainPartitions(db, new Date(), { log: 1 });
    expect(dropped).toEqual(OLD_MONTHS.map((month) => `log_entries_${month}`));

    for (const change of ['set statement_timeout = 0', 'set role = none', "password 'mine'"]) {
      await run(urls.readerUrl, `begin read write; alter role xiq_reader ${change}; commit`);
    }
    expect(await repairReaders(db, urls.readerUrl)).toEqual([
      {
        login: 'xiq_reader',
        changes: ['it has role=none', 'it has statement_timeout=0', 'it lacks statement_timeout=5min'],
      },
      { login: 'xiq_reader', changes: ['its password differs from READER_DATABASE_URL'] },
    ]);
    expect(await repairReaders(db, urls.readerUrl)).toEqual([]);
    expect((await readOnlyQuery(urls.readerUrl, 'select count(*) from audit_log')).rows).toEqual([['2']]);
  } finally {
    await db.destroy();
  }
  for (const statement of [
    'update deliveries set source = source',
    'delete from audit_events',
    'truncate audit_events',
    'alter table audit_events disable trigger refuse_change',
    'drop table log_entries',
    'create table mine (id int)',
    'create role mine',
    "copy deliveries to program 'cat'",
  ]) {
    await expect(run(urls.databaseUrl, statement)).rejects.toThrow(/permission denied|must be owner/);
  }
  for (const table of ['audit_events', 'quarantine', 'operator_log']) {
    const attempt = run(admin.href, 'set session_replication_role = replica', `delete from ${table}`);
    await expect(attempt).rejects.toThrow(/stays as it was written/);
  }
}

const ROLES_COMMAND = /```sh\n(BOOTSTRAP_DATABASE_URL[^`]*MIGRATION_DATABASE_URL[^`]*xiq-sink migrate)/;
const MIGRATE_COMMAND = /```sh\n(MIGRATION_DATABASE_URL[^`]*xiq-sink migrate)/;

/** The settings of a command in docs/operating.md, for another server. */
async function settingsOf(command: RegExp, { host, password }: URL, dataDir: string) {
  const page = await fs.readFile('docs/operating.md', 'utf8');
  const [, text = ''] = command.exec(page) ?? [];
  const settings = Object.fromEntries(
    [...text.matchAll(/^(\w+)=(\S+)/gm)].map(([, name = '', url = '']) => [
      name,
      url.replace('db.example:5432', host).replace('postgres:PASSWORD', `postgres:${password}`),
    ]),
  );
  return loadSettings({ ...settings, DATA_DIR: dataDir });
}

it('separates the logins by the commands of docs/operating.md', async () => {
  const place = await temporaryDirectory();
  const { cluster, url } = await startOldServer(place);
  const logger = createLogger('silent');
  try {
    const both = await settingsOf(ROLES_COMMAND, url, place);
    const databaseUrl = both.databaseUrl ?? '';
    await prepareStore({ ...both, migrationDatabaseUrl: undefined }, logger);
    await run(databaseUrl, 'set role xiq_owner');

    await prepareStore(both, logger);
    await expect(run(databaseUrl, 'set role xiq_owner')).rejects.toThrow(/permission denied/);
    // All migrations are to be applied: those of the next version would be.
    await run(url.href, 'drop schema public cascade', 'create schema public authorization xiq_owner');
    const alone = await settingsOf(MIGRATE_COMMAND, url, place);
    await expect(prepareStore({ ...alone, migrationDatabaseUrl: undefined }, logger)).rejects.toThrow(
      /xiq_sink cannot change the tables.*MIGRATION_DATABASE_URL/,
    );
    expect(await prepareStore(alone, logger)).toContain('0014_work_of_the_owner');

    const db = openDatabase(databaseUrl, () => undefined);
    expect((await maintainPartitions(db, new Date(), {})).created.length).toBeGreaterThan(10);
    await storeRows(db);
    await db.destroy();
  } finally {
    await stopServer(cluster, 'immediate');
    await rm(place, { recursive: true, force: true });
  }
});

describe('an installation of before the roles', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await temporaryDirectory();
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('is migrated where the embedded database belonged to its superuser', async () => {
    const place = path.join(directory, 'embedded');
    await fs.mkdir(place, { mode: 0o711 });
    const { cluster, url } = await startOldServer(place);
    await fillOldDatabase(url.href);
    await stopServer(cluster);

    const embedded = await startEmbeddedPostgres(place);
    try {
      const db = openDatabase(embedded.migrationUrl, () => undefined);
      expect(await migrateStore(db, undefined, undefined, 'xiq_sink')).toEqual([]);
      await db.destroy();
      await migrateQueue(embedded.databaseUrl);
      await expectMigrated(embedded, url);
    } finally {
      await embedded.stop();
    }
  });

  it('is migrated where the service of the Compose file was the first superuser, after it was renamed', async () => {
    const place = path.join(directory, 'compose');
    await fs.mkdir(place, { mode: 0o711 });
    const { cluster, url } = await startOldServer(place);
    try {
      // As POSTGRES_USER=xiq_sink made it.
      const as = (user: string, password: string) => {
        const other = new URL(url);
        other.username = user;
        other.password = password;
        return other;
      };
      await run(url.href, "create role helper superuser login password 'helper'");
      const helper = as('helper', 'helper').href;
      await run(helper, 'alter role postgres rename to xiq_sink');
      const old = as('xiq_sink', url.password);
      await run(old.href, 'drop role helper');
      await fillOldDatabase(old.href);

      const env = {
        DATABASE_URL: as('xiq_sink', 'secret-of-the-service').href,
        READER_DATABASE_URL: as('xiq_reader', 'secret-of-the-reader').href,
        BOOTSTRAP_DATABASE_URL: url.href,
        DATA_DIR: place,
      };
      const logger = createLogger('silent');
      const settings = loadSettings(env);
      const still = loadSettings({ ...env, BOOTSTRAP_DATABASE_URL: old.href });
      await expect(prepareStore(still, logger)).rejects.toThrow(/Rename it first/);

      // The two commands of docs/operating.md.
      await run(old.href, "create role xiq_rename superuser login password 'rename'");
      await run(as('xiq_rename', 'rename').href, 'alter role xiq_sink rename to postgres');
      expect(await prepareStore(settings, logger)).toEqual([]);
      await expectMigrated(
        { databaseUrl: env.DATABASE_URL, readerUrl: env.READER_DATABASE_URL },
        new URL(env.BOOTSTRAP_DATABASE_URL),
      );
    } finally {
      await stopServer(cluster, 'immediate');
    }
  });
});
