import { promises as fs } from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { FileMigrationProvider, Migrator } from 'kysely/migration';
import { DatabaseError } from 'pg';
import { OutageError } from '../errors.ts';
import { isLockTimeout } from '../postgres.ts';
import type { Db, Trx } from './database.ts';
import { limitLockWait } from './locks.ts';
import { asOwner, checkReader, grantToService } from './roles.ts';
import { describeSession, findHolders } from './server-sessions.ts';

const MIGRATIONS = path.resolve(import.meta.dirname, '../../migrations');

/** How long a migration waits for a table that another session uses; everybody else queues behind it meanwhile. */
const LOCK_WAIT_MS = 2_000;

/**
 * Applies the pending migrations in one transaction and under a lock, so that several processes may start at once, as the
 * owner of the tables. Resolves with the names of the migrations applied. Throws an error that names the failed migration,
 * or an OutageError that names the sessions that are in the way: nothing was changed, and it can be repeated. Throws a
 * UsageError if an administrator has to create the reading role.
 */
export async function migrateStore(db: Db): Promise<string[]> {
  try {
    await checkReader(db);
    await createLockTable(db);
    const applied = await asOwner(db, applyMigrations);
    await grantToService(db);
    return applied;
  } catch (error) {
    if (!(error instanceof Error) || !isLockTimeout(error.cause)) throw error;
    throw new OutageError(await describeBlocked(db), { cause: error });
  }
}

async function applyMigrations(trx: Trx): Promise<string[]> {
  await sql`select from kysely_migration_lock for update`.execute(trx);
  await limitLockWait(trx, LOCK_WAIT_MS);
  const { error, results = [] } = await migratorOf(trx).migrateToLatest();
  if (error !== undefined) {
    const failed = results.find(({ status }) => status === 'Error')?.migrationName;
    const message = `migration ${failed ?? '(none started)'} failed; the database is unchanged`;
    throw new Error(message, { cause: error });
  }
  return results.map(({ migrationName }) => migrationName);
}

/**
 * Creates the table of Kysely's lock, and its row. A row is locked instead of Kysely's own advisory lock
 * (`RowLockAdapter`), which every role that may log in can take.
 */
async function createLockTable(db: Db): Promise<void> {
  const hasTable = await asOwner(db, async (trx) => {
    const { rows } = await sql`select from pg_tables
      where tablename = 'kysely_migration_lock' and schemaname = any(current_schemas(false))`.execute(trx);
    return rows.length > 0;
  });
  if (!hasTable) {
    // Without a lock, two processes may both find no table, and one of them fails.
    await asOwner(db, (trx) =>
      sql`create table if not exists kysely_migration_lock (
        id varchar(255) primary key, is_locked integer not null default 0)`.execute(trx),
    ).catch((error: unknown) => {
      if (!(error instanceof DatabaseError) || !DUPLICATES.has(error.code ?? '')) throw error;
    });
  }
  await asOwner(db, (trx) =>
    sql`insert into kysely_migration_lock (id) values ('migration_lock') on conflict do nothing`.execute(trx),
  );
}

/** SQLSTATE unique_violation and duplicate_table: another process has created the table meanwhile. */
const DUPLICATES: ReadonlySet<string> = new Set(['23505', '42P07']);

async function describeBlocked(db: Db): Promise<string> {
  const tables = sql`select oid from pg_class where relnamespace = current_schema()::regnamespace`;
  const holders = await findHolders(db, tables, LOCK_WAIT_MS / 1_000);
  const names = holders.map(describeSession).join('; ') || 'a session that has ended since';
  return `migrations wait for tables that others use: ${names}`;
}

/** The migrations of a database. */
export interface MigrationState {
  readonly applied: readonly string[];
  /** Migrations of this program that are not applied yet. */
  readonly pending: readonly string[];
  /** Migrations applied by a newer version of this program. */
  readonly unknown: readonly string[];
}

/** Reads which migrations were applied, and applies none. */
export async function readMigrationState(db: Db): Promise<MigrationState> {
  // As the owner: the service has its rights only after the migrations.
  const [known, executed] = await asOwner(db, async (trx) => [
    await migratorOf(trx).getMigrations(),
    await executedMigrations(trx),
  ]);
  const names = known.map(({ name }) => name);
  return {
    applied: names.filter((name) => executed.includes(name)),
    pending: names.filter((name) => !executed.includes(name)),
    unknown: executed.filter((name) => !names.includes(name)),
  };
}

async function executedMigrations(db: Db): Promise<string[]> {
  const table = await sql<{ exists: boolean }>`
    select to_regclass('kysely_migration') is not null as exists`.execute(db);
  if (table.rows[0]?.exists !== true) return [];
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map(({ name }) => name);
}

function migratorOf(db: Db): Migrator {
  return new Migrator({ db, provider: new FileMigrationProvider({ fs, path, migrationFolder: MIGRATIONS }) });
}
