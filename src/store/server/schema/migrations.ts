import { promises as fs } from 'node:fs';
import path from 'node:path';
import { FileMigrationProvider, type Migration } from 'kysely/migration';
import { z } from 'zod';
import { sql } from 'kysely';
import type { Db } from '../database.ts';

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
  /** The suffix of the index that goes once this one is built. */
  replaces: z.string().optional(),
});

export type LargeIndex = z.output<typeof LargeIndex>;

/** What a migration's module exports beside `up`. */
const Declared = z.object({
  /** Whether programs without this migration may run on its tables: it only adds what they need not know. */
  olderProgramsMayRun: z.boolean().default(false),
  indexes: z.array(LargeIndex).default([]),
  /** Views, functions and triggers that it makes, as statements: the schema in use is compared with them. */
  statements: z.array(z.string()).default([]),
});

export type KnownMigration = Migration & Partial<z.input<typeof Declared>>;

/** Migrations by name, which sort in their order. */
export type Migrations = Readonly<Record<string, KnownMigration>>;

/** The migration that a new database begins with. */
export const FIRST_MIGRATION = '0001_server';

const DIRECTORY = path.resolve(import.meta.dirname, '../../../../migrations');

/** The files of SQL among them, in their order. */
const scriptFiles = async () =>
  (await fs.readdir(DIRECTORY)).filter((file) => file.endsWith('.sql')).toSorted();

const readScript = (file: string) => fs.readFile(path.join(DIRECTORY, file), 'utf8');

/** What the migrations say in SQL, in their order. */
export async function readScripts(): Promise<readonly string[]> {
  const scripts = await Promise.all((await scriptFiles()).map(readScript));
  const modules = Object.entries(await loadMigrations()).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [...scripts, ...modules.flatMap(([, migration]) => declaredBy(migration).statements)];
}

/** The migrations of this program: files of SQL, and modules where SQL alone is not enough. */
export async function loadMigrations(): Promise<Migrations> {
  const modules = await new FileMigrationProvider({ fs, path, migrationFolder: DIRECTORY }).getMigrations();
  const migrations = (await scriptFiles()).map(
    async (file) => [path.basename(file, '.sql'), sqlMigration(await readScript(file))] as const,
  );
  return { ...Object.fromEntries(await Promise.all(migrations)), ...modules };
}

export const declaredBy = (migration: KnownMigration | undefined) => Declared.parse({ ...migration });

/**
 * A migration of SQL statements. The comment line directly above the creation of a table, view or function, and the comment
 * behind a column of a table, become comments of the database too.
 */
const sqlMigration = (script: string): Migration => ({
  async up(db: Db) {
    await sql.raw(withComments(script)).execute(db);
  },
});

const CREATION = /^create (?:or replace )?((?:table|view|function) \w+)/;
const TABLE = /^create table (\w+) \($/;
const COLUMN = /^ {2}(\w+) .* -- (.+)$/;
const COMMENT_LINE = /^-- (.+)$/;

/** The script, with a statement for each comment: of columns behind their table, of all else at the end. */
function withComments(script: string): string {
  const lines: string[] = [];
  const objects: string[] = [];
  let columns: string[] = [];
  let table: string | undefined;
  let above: string | undefined;
  for (const line of script.split('\n')) {
    lines.push(line);
    const [, object] = CREATION.exec(line) ?? [];
    if (object !== undefined && above !== undefined) objects.push(commentOn(object, above));
    table ??= TABLE.exec(line)?.[1];
    const [, column, meaning] = COLUMN.exec(line) ?? [];
    if (table !== undefined && column !== undefined && meaning !== undefined) {
      columns.push(commentOn(`column ${table}.${column}`, meaning));
    }
    if (line.startsWith(')')) {
      lines.push(...columns);
      columns = [];
      table = undefined;
    }
    above = COMMENT_LINE.exec(line)?.[1];
  }
  return [...lines, ...objects].join('\n');
}

const commentOn = (object: string, text: string) =>
  `comment on ${object} is '${text.replaceAll("'", "''")}';`;
