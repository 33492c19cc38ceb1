import { afterAll, beforeAll } from 'vitest';
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** A database for all tests of a file. */
export interface FileDatabase extends Omit<TestDatabase, 'drop'> {
  /** Connections of the service's role. */
  readonly service: Db;
}

/** Creates a database before the first test of the file, and drops it after the last. */
export function useDatabase(options?: Parameters<typeof createTestDatabase>[0]): FileDatabase {
  let created: (TestDatabase & FileDatabase) | undefined;
  const database = () => {
    if (created === undefined) throw new Error('the database is created before the first test');
    return created;
  };
  beforeAll(async () => {
    const made = await createTestDatabase(options);
    created = { ...made, service: openDatabase(made.databaseUrl, () => undefined) };
  });
  afterAll(async () => {
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
  };
}
