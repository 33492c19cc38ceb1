import type { DatabaseAccess } from '../../../src/commands/doctor/database.ts';
import type { TestDatabase } from '../../support/database.ts';

/** A doctor's way to a test's database, which the test closes. */
export function accessTo({ db, databaseUrl }: TestDatabase): DatabaseAccess {
  return {
    open: async () => ({ db, databaseUrl }),
    opened: () => ({ db, databaseUrl }),
    close: async () => undefined,
  };
}
