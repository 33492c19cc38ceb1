import { promises as fs } from 'node:fs';
import path from 'node:path';
import { FileMigrationProvider, Migrator } from 'kysely/migration';
import type { Db } from './database.ts';

const MIGRATIONS = path.resolve(import.meta.dirname, '../../migrations');

/**
 * Brings the tables up to date, under a lock of the migrator's own: many processes may start at once.
 * Returns the names of the migrations that were applied now. Throws with the failed migration's name.
 */
export async function migrateStore(db: Db): Promise<string[]> {
  const provider = new FileMigrationProvider({ fs, path, migrationFolder: MIGRATIONS });
  const { error, results = [] } = await new Migrator({ db, provider }).migrateToLatest();
  if (error !== undefined) {
    const failed = results.find(({ status }) => status === 'Error')?.migrationName;
    throw new Error(`migration ${failed ?? '(none started)'} failed; the database is as it was before`, {
      cause: error,
    });
  }
  return results.map(({ migrationName }) => migrationName);
}
