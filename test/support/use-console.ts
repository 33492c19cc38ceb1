import { sql } from 'kysely';
import { afterAll, beforeAll } from 'vitest';
import type { AdminOptions } from '../../src/console/admin-app.ts';
import type { Area } from '../../src/console/area.ts';
import type { Db } from '../../src/store/server/database.ts';
import { startAdmin, type RunningAdmin } from './admin.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** The console in use by the tests of a file, over a database of its own. Its members are there from the first test on. */
export interface UsedConsole extends Omit<RunningAdmin, 'close'> {
  readonly database: TestDatabase;
  /** Connections of the superuser. */
  readonly db: Db;
  /** Runs a statement as the superuser. Resolves with its rows. */
  query<Row = unknown>(text: TemplateStringsArray, ...values: unknown[]): Promise<Row[]>;
}

interface ConsoleSettings extends Partial<AdminOptions> {
  /** Stores what the tests are about, before the console starts. */
  readonly seed?: (db: Db) => Promise<unknown>;
  /** Whether every stored event enters the log. */
  readonly logs?: boolean;
}

/** Starts the console with these areas before the first test of the file, or of the `describe`, and stops it after the last. */
export function useConsole(
  areasOf: (db: Db) => readonly Area[],
  { seed, logs = false, ...options }: ConsoleSettings = {},
): UsedConsole {
  let database: TestDatabase;
  let admin: RunningAdmin;
  beforeAll(async () => {
    database = await createTestDatabase({ logs });
    await seed?.(database.db);
    admin = await startAdmin(areasOf(database.db), database.db, options);
  });
  afterAll(async () => {
    await admin.close();
    await database.drop();
  });
  return {
    get database() {
      return database;
    },
    get db() {
      return database.db;
    },
    query: async <Row>(text: TemplateStringsArray, ...values: unknown[]) =>
      (await sql<Row>(text, ...values).execute(database.db)).rows,
    get url() {
      return admin.url;
    },
    get: (path) => admin.get(path),
    post: (path, body) => admin.post(path, body),
    page: (path) => admin.page(path),
    ask: (token, path, body) => admin.ask(token, path, body),
  };
}
