import { MIGRATION_ADVISORY_LOCK_KEY } from 'bullmq';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { migrateQueue } from '../../../../src/queue/postgres-engine.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { buildIndexes } from '../../../../src/store/server/schema/build-indexes.ts';
import { openDatabase, type Db } from '../../../../src/store/server/database.ts';
import { migrateStore } from '../../../../src/store/server/schema/migrate.ts';
import { loadMigrations, type Migrations } from '../../../../src/store/server/schema/migrations.ts';
import { maintainPartitions } from '../../../../src/store/partitions/partitions.ts';
import { useDatabase } from '../../../support/use-database.ts';

const test = useDatabase({ forEach: true });
/** Connections of the superuser, who becomes the owner to migrate. */
let db: Db;
beforeEach(async () => {
  db = openDatabase(test.adminUrl, () => undefined);
});
afterEach(async () => {
  await db.destroy();
});

const PARTITIONED = {
  table: 'audit_events',
  suffix: 'test',
  definition: 'btree (user_name, code) where user_name is not null',
};

/** The migrations of a program that is newer by this index. */
const withIndex = async (): Promise<Migrations> => ({
  ...(await loadMigrations()),
  '9999_newer': { up: async () => undefined, indexes: [PARTITIONED] },
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

const waitingSessions = async () =>
  (
    await test.query`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  ).length;

describe('indexes on large tables', () => {
  const isValid = async (index: string) =>
    (
      await test.query<{ valid: boolean }>`select indisvalid as valid from pg_index
        where indexrelid = to_regclass(${index})`
    )[0]?.valid;

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
    const migrations = await withIndex();
    let isBuilt = false;
    const building = buildIndexes(db, { migrations }).finally(() => {
      isBuilt = true;
    });
    await waitFor(heldUp);
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
    const migrations = await withIndex();
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
});
