import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from './database.ts';

/** A database for all tests of a file, or for each. */
export interface FileDatabase extends Omit<TestDatabase, 'drop'> {
  /** Connections of the service's role. */
  readonly service: Db;
  /** Runs a statement as the superuser. Resolves with its rows. */
  query<Row = unknown>(text: TemplateStringsArray, ...values: unknown[]): Promise<Row[]>;
}

/** Creates a database before the first test of the file (or `forEach` test), and drops it after the last. */
export function useDatabase({
  forEach = false,
  ...options
}: TestDatabaseOptions & { readonly forEach?: boolean } = {}): FileDatabase {
  const before = forEach ? beforeEach : beforeAll;
  const after = forEach ? afterEach : afterAll;
  let created: (TestDatabase & { readonly service: Db }) | undefined;
  const database = () => {
    if (created === undefined) throw new Error('the database is created before the first test');
    return created;
  };
  before(async () => {
    const made = await createTestDatabase(options);
    created = { ...made, service: openDatabase(made.databaseUrl, () => undefined) };
  });
  after(async () => {
    await created?.service.destroy();
    await created?.drop();
  });
  return {
    get databaseUrl() {
      return database().databaseUrl;
    },
    get readerUrl() {
      return database().readerUrl;
    },
    get adminUrl() {
      return database().adminUrl;
    },
    get db() {
      return database().db;
    },
    get service() {
      return database().service;
    },
    query: async <Row>(text: TemplateStringsArray, ...values: unknown[]) =>
      (await sql<Row>(text, ...values).execute(database().db)).rows,
  };
}
