import { promises as fs } from 'node:fs';
import path from 'node:path';
import { FileMigrationProvider, type Migration } from 'kysely/migration';
import { z } from 'zod';

/**
 * An index on tables that may be large. It is built outside the transaction of its migration, after it, while others
 * store. A partitioned table's partitions get theirs one by one.
 */
const LargeIndex = z.object({
  table: z.string(),
  /** Added to the name of the table, and to those of its partitions: the name of the index. */
  suffix: z.string(),
  /** The access method, the columns and the condition: `btree (username) where username is not null`. */
  definition: z.string(),
});

export type LargeIndex = z.output<typeof LargeIndex>;

/** What a migration's module exports beside `up`. */
const Declared = z.object({
  /** Whether programs without this migration may run on its tables: it only adds what they need not know. */
  olderProgramsMayRun: z.boolean().default(false),
  indexes: z.array(LargeIndex).default([]),
});

/** A migration, and what it declares. */
export type KnownMigration = Migration & Partial<z.input<typeof Declared>>;

/** Migrations by name, which sort in their order. */
export type Migrations = Readonly<Record<string, KnownMigration>>;

const DIRECTORY = path.resolve(import.meta.dirname, '../../migrations');

/** The migrations of this program. */
export async function loadMigrations(): Promise<Migrations> {
  return new FileMigrationProvider({ fs, path, migrationFolder: DIRECTORY }).getMigrations();
}

/** What a migration declares. */
export const declaredBy = (migration: KnownMigration | undefined) => Declared.parse({ ...migration });
