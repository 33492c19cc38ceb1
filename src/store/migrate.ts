import { promises as fs } from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { FileMigrationProvider, Migrator } from 'kysely/migration';
import type { Db } from './database.ts';
import { asOwner, grantToService } from './roles.ts';

const MIGRATIONS = path.resolve(import.meta.dirname, '../../migrations');

/**
 * Applies the pending migrations under a lock, so that several processes may start at once, as the owner of the tables.
 * Resolves with the names of the migrations applied. Throws an error that names the failed migration.
 */
export async function migrateStore(db: Db): Promise<string[]> {
  return asOwner(db, async (connection) => {
    const applied = await applyMigrations(connection);
    await grantToService(connection);
    return applied;
  });
}

async function applyMigrations(db: Db): Promise<string[]> {
  const { error, results = [] } = await migratorOf(db).migrateToLatest();
  if (error !== undefined) {
    const failed = results.find(({ status }) => status === 'Error')?.migrationName;
    throw new Error(`migration ${failed ?? '(none started)'} failed; the database is unchanged`, {
      cause: error,
    });
  }
  return results.map(({ migrationName }) => migrationName);
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
  const [known, executed] = await asOwner(db, async (connection) => [
    await migratorOf(connection).getMigrations(),
    await executedMigrations(connection),
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
