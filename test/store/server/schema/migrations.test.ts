import { MIGRATION_ADVISORY_LOCK_KEY } from 'bullmq';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { OutageError } from '../../../../src/lib/errors.ts';
import { migrateQueue } from '../../../../src/queue/postgres-engine.ts';
import { maintainPartitions } from '../../../../src/store/partitions/partitions.ts';
import { openDatabase, type Db } from '../../../../src/store/server/database.ts';
import { buildIndexes, startIndexBuilding } from '../../../../src/store/server/schema/build-indexes.ts';
import { migrateStore, readMigrationState } from '../../../../src/store/server/schema/migrate.ts';
import {
  loadMigrations,
  type KnownMigration,
  type Migrations,
} from '../../../../src/store/server/schema/migrations.ts';
import { useDatabase } from '../../../support/use-database.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** The migrations of the baseline say nothing: there is no older program that knows the tables. */
const FIRST_TO_SAY = '0011';

const test = useDatabase({ forEach: true });
/** Connections of the superuser, who becomes the owner to migrate. */
let db: Db;
beforeEach(() => {
  db = openDatabase(test.adminUrl, () => undefined);
});
afterEach(() => db.destroy());

/** The migrations of a program that is newer by one. */
const newer = async (migration: Partial<KnownMigration>): Promise<Migrations> => ({
  ...(await loadMigrations()),
  '9999_newer': { up: async () => undefined, ...migration },
});

/** A session of its own with an open transaction, which has done this. Resolves with what ends it. */
async function openTransaction(url: string, ...statements: string[]): Promise<() => Promise<void>> {
  const own = openDatabase(url, () => undefined);
  const trx = await own.startTransaction().execute();
  for (const statement of statements) await sql.raw(statement).execute(trx);
  let ended: Promise<void> | undefined;
  const end = () =>
    (ended ??= (async () => {
      await trx.rollback().execute();
      await own.destroy();
    })());
  onTestFinished(end);
  return end;
}

const insertInto = (
  table: string,
) => `insert into ${table} (occurred_at, received_at, event_id, delivery_id, source, message_type,
    origin, user_name, payload)
  select now(), now(), gen_random_uuid(), gen_random_uuid(), 'default', 'AUDIT_LOG_ALL', 'webhook', 'user ' || n, '{}'`;

/** The partition that building has to wait for. */
const THIS_MONTH = `audit_events_${new Date().toISOString().slice(0, 7).replace('-', '_')}`;

const storeRows = (count: number) =>
  db.transaction().execute(async (trx) => {
    await sql`select begin_storing()`.execute(trx);
    await sql`${sql.raw(insertInto('audit_events'))} from generate_series(1, ${count}::int) as n`.execute(
      trx,
    );
  });

const waitingSessions = async () =>
  (
    await test.query`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  ).length;

describe('a program', () => {
  it('runs beside a newer one whose migrations only add', async () => {
    const migrations = await newer({
      olderProgramsMayRun: true,
      up: async (trx) => {
        await sql`create table of_the_newer_program (id int)`.execute(trx);
      },
    });
    expect(await migrateStore(db, undefined, migrations)).toEqual(['9999_newer']);
    expect(await migrateStore(db)).toEqual([]);
    expect(await readMigrationState(db)).toMatchObject({
      pending: [],
      unknown: ['9999_newer'],
      incompatible: [],
    });
  });

  it.each([{ olderProgramsMayRun: false }, {}])(
    'refuses the tables of a newer one that says %j',
    async (says) => {
      await migrateStore(db, undefined, await newer(says));
      await expect(migrateStore(db)).rejects.toThrow(/newer version of xiq-sink, which applied 9999_newer/);
      expect(await readMigrationState(db)).toMatchObject({ incompatible: ['9999_newer'] });
    },
  );

  it('refuses tables that lack some of its migrations and have others', async () => {
    await migrateStore(db, undefined, await newer({ olderProgramsMayRun: true }));
    const other = { ...(await loadMigrations()), '9998_mine': { up: async () => undefined } };
    await expect(migrateStore(db, undefined, other)).rejects.toThrow(/9999_newer\), but not 9998_mine/);
  });

  it('names a migration that failed, of which nothing is left', async () => {
    const failing = await newer({
      up: async (trx) => {
        await sql`create table half (); select 1 / 0`.execute(trx);
      },
    });
    await expect(migrateStore(db, undefined, failing)).rejects.toMatchObject({
      message: 'migration 9999_newer failed; the database is unchanged',
      cause: { message: 'division by zero' },
    });
    expect((await readMigrationState(db)).unknown).toEqual([]);
  });
});

it('every migration says whether older programs may run', async () => {
  const migrations = Object.entries(await loadMigrations()).filter(([name]) => name >= FIRST_TO_SAY);
  expect(migrations.filter(([, { olderProgramsMayRun }]) => olderProgramsMayRun === undefined)).toEqual([]);
  const { rows } = await sql<{
    migration: string;
  }>`select migration from schema_compatibility order by 1`.execute(db);
  expect(rows.map(({ migration }) => migration)).toEqual(Object.keys(await loadMigrations()).toSorted());
});

it('migrations are applied once by processes that start at the same time, on an empty database too', async () => {
  const comments = () => test.query`
    select object::text, objsubid, description
    from pg_description, pg_identify_object_as_address(classoid, objoid, objsubid) as object
    where object_names[1] = 'public' and type <> 'schema' order by 1`;
  const before = await comments();
  await test.query`drop schema public cascade`;
  await test.query`create schema public`;
  const applied = await Promise.all([1, 2, 3].map(() => migrateStore(test.db)));
  expect(applied.map((list) => list.length > 0).filter(Boolean)).toHaveLength(1);
  expect(await comments()).toEqual(before);
});

describe('migrating', () => {
  it('is cancelled by a signal, at once, while it waits for a lock, and leaves no session behind', async () => {
    const end = await openTransaction(test.adminUrl, 'select from kysely_migration_lock for update');
    const stopping = new AbortController();
    const migrating = migrateStore(db, stopping.signal);
    await waitFor(async () => (await waitingSessions()) === 1);
    const began = performance.now();
    stopping.abort();
    await expect(migrating).rejects.toBe(stopping.signal.reason);
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(await waitingSessions()).toBe(0);
    await end();
    expect(await migrateStore(db)).toEqual([]);
  });

  it('waits for a table in use for 2 s, and then the error names the session', async () => {
    const end = await openTransaction(test.databaseUrl, 'lock table kysely_migration');
    await expect(migrateStore(db)).rejects.toThrow(
      /^migrations are waiting for tables used by others: pid \d+ \(xiq-sink, user \w+\), in a transaction for \d s/,
    );
    await end();
    expect(await migrateStore(db)).toEqual([]);
  });

  it('waits for no advisory lock, which every role may take where no superuser has prepared them; the queue for 5 s', async () => {
    const keys = [0x78697169, 0x78697170, 0x78697173, '3853314791062309107'];
    const end = await openTransaction(
      test.databaseUrl,
      ...keys.map((key) => `select pg_advisory_xact_lock(${key})`),
      `select pg_advisory_xact_lock(${MIGRATION_ADVISORY_LOCK_KEY}, hashtext('bullmq'))`,
    );
    const began = performance.now();
    expect(await migrateStore(test.db)).toEqual([]);
    await migrateQueue(test.databaseUrl);
    await maintainPartitions(test.db, new Date(), {});
    expect(performance.now() - began).toBeLessThan(5_000);
    await test.query`drop schema bullmq cascade`;
    await expect(migrateQueue(test.databaseUrl)).rejects.toThrow(
      /^the migration of the queue is waiting for a lock held by pid \d+ \(xiq-sink, user \w+\)$/,
    );
    await end();
    await migrateQueue(test.databaseUrl);
  });
});

describe('indexes on large tables', () => {
  const PLAIN = { table: 'quarantine', suffix: 'test', definition: 'btree (reason)' };
  const PARTITIONED = {
    table: 'audit_events',
    suffix: 'test',
    definition: 'btree (user_name, code) where user_name is not null',
  };

  const isValid = async (index: string) =>
    (
      await test.query<{ valid: boolean }>`select indisvalid as valid from pg_index
        where indexrelid = to_regclass(${index})`
    )[0]?.valid;

  const partitionsOf = async (relation: string) =>
    Number(
      (
        await test.query<{
          count: string;
        }>`select count(*) from pg_inherits where inhparent = to_regclass(${relation})`
      )[0]?.count,
    );

  it('are built once, by the owner, on every partition, and on those that come later', async () => {
    const migrations = await newer({ indexes: [PLAIN, { ...PARTITIONED, replaces: 'code' }] });
    await migrateStore(db, undefined, migrations);
    expect(await buildIndexes(db, { migrations, isPooled: async () => true })).toBe('pooled');
    expect(await buildIndexes(db, { migrations })).toEqual(['quarantine_test', 'audit_events_test']);
    expect(await isValid('quarantine_test')).toBe(true);
    expect(await isValid('audit_events_test')).toBe(true);
    expect(await isValid('audit_events_code')).toBeUndefined();
    const count = await partitionsOf('audit_events');
    expect(await partitionsOf('audit_events_test')).toBe(count);
    expect(await buildIndexes(db, { migrations, isPooled: async () => true })).toEqual([]);
    await test.query`create index audit_events_code on audit_events (code)`;
    expect(await buildIndexes(db, { migrations })).toEqual(['audit_events_test']);
    expect(await isValid('audit_events_code')).toBeUndefined();

    await maintainPartitions(db, new Date(Date.now() + 40 * 86_400_000), {});
    expect(await partitionsOf('audit_events')).toBeGreaterThan(count);
    expect(await partitionsOf('audit_events_test')).toBe(await partitionsOf('audit_events'));
    expect(await buildIndexes(db, { migrations })).toEqual([]);
    expect(
      await test.query`select distinct tableowner from pg_indexes join pg_tables using (tablename)
          where indexname = 'quarantine_test'`,
    ).toEqual([{ tableowner: 'xiq_owner' }]);
  });

  /** The session that builds the index of this month and waits for a transaction that stores there. */
  const heldUp = async () =>
    (
      await test.query<{ pid: number }>`select pid from pg_stat_progress_create_index
        where relid = ${THIS_MONTH}::regclass and phase like 'waiting for writers%'`
    )[0]?.pid;

  it('let others store while they are built, even if a transaction holds the building up', async () => {
    await storeRows(20_000);
    const end = await openTransaction(
      test.databaseUrl,
      'select begin_storing()',
      `${insertInto(THIS_MONTH)} from generate_series(1, 1) as n`,
    );
    const migrations = await newer({ indexes: [PARTITIONED] });
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    let isBuilt = false;
    const progress: object[] = [];
    const onProgress = (one: object) => void progress.push(one);
    const building = buildIndexes(db, { migrations, onProgress }).finally(() => {
      isBuilt = true;
    });
    await waitFor(heldUp);
    vi.advanceTimersByTime(10_000);
    const [shown] = await waitFor(() => (progress.length > 0 ? progress : undefined));
    const waiting = expect.stringMatching(/^waiting for writers/) as unknown;
    expect(shown).toEqual({ index: `${THIS_MONTH}_test`, phase: waiting, percent: undefined });
    const began = performance.now();
    for (let n = 0; n < 20; n += 1) await storeRows(10);
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(isBuilt).toBe(false);
    // Another process does not interfere.
    const other = openDatabase(test.adminUrl, () => undefined);
    expect(await buildIndexes(other, { migrations })).toBe('busy');
    await other.destroy();
    await end();
    expect(await building).toEqual(['audit_events_test']);
    expect(vi.getTimerCount()).toBe(0);
    expect(await isValid('audit_events_test')).toBe(true);
    const { rows } = await sql`select count(*)::int as stored from audit_events`.execute(db);
    expect(rows).toEqual([{ stored: 20_200 }]);
  });

  it.each(['the signal', 'the death of its session'])('go on after %s', async (how) => {
    await storeRows(1_000);
    const end = await openTransaction(
      test.databaseUrl,
      'select begin_storing()',
      `${insertInto(THIS_MONTH)} from generate_series(1, 1) as n`,
    );
    const migrations = await newer({ indexes: [PARTITIONED] });
    const stopping = new AbortController();
    const building = buildIndexes(db, { migrations, signal: stopping.signal });
    building.catch(() => undefined);
    const pid = await waitFor(heldUp);
    if (how === 'the signal') stopping.abort();
    else await test.query`select pg_terminate_backend(${pid})`;
    await expect(building).rejects.toThrow(/abort|terminat|connection|queryable/i);
    await waitFor(async () => (await heldUp()) === undefined);
    const rows = await test.query<{ index: string }>`
      select indexrelid::regclass::text as index from pg_index
      where not indisvalid and indexrelid::regclass::text like 'audit_events_2%_test' and
        indrelid = ${THIS_MONTH}::regclass`;
    expect(rows).toHaveLength(1);
    await end();
    expect(await buildIndexes(db, { migrations })).toEqual(['audit_events_test']);
    expect(await isValid('audit_events_test')).toBe(true);
    expect(await isValid(rows[0]?.index ?? '')).toBe(true);
  });

  it('are left to a quieter time while their table is in use, and the service builds them then', async () => {
    await test.query`drop index audit_events_user_name_folded`;
    const end = await openTransaction(test.adminUrl, 'lock table audit_events in row exclusive mode');
    await expect(buildIndexes(db)).rejects.toThrow(OutageError);
    await end();
    const lines: string[] = [];
    const logger = pino({}, { write: (line) => lines.push(line) });
    await using started = new AsyncDisposableStack();
    const { databaseUrl } = test;
    startIndexBuilding({ db, databaseUrl, directUrl: test.adminUrl, logger }, started);
    await waitFor(() => isValid('audit_events_user_name_folded'));
    await waitFor(() => lines.length > 0);
    expect(lines).toEqual([expect.stringContaining('"built":["audit_events_user_name_folded"]')]);
  });
});
