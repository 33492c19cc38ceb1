import type { DatabaseAccess } from '../../../src/commands/doctor/database.ts';
import type { TestDatabase } from '../../support/database.ts';

/** A doctor's way to a test's database, which the test closes. */
export function accessTo(test: Pick<TestDatabase, 'db' | 'databaseUrl'>): DatabaseAccess {
  return {
    open: async () => test,
    opened: () => test,
    close: async () => undefined,
  };
}
