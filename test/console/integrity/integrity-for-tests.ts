import type { Area } from '../../../src/console/area.ts';
import { integrityArea } from '../../../src/console/integrity/integrity-area.ts';
import { createVerifyJob, differencesIn } from '../../../src/serve/verify-job.ts';
import type { Db } from '../../../src/store/database.ts';

/** The page Integrity, as the service composes it. Verifications run in the database at the address, if there is one. */
export const integrityForTests = (db: Db, databaseUrl = 'postgres://nobody@127.0.0.1:1/none'): Area =>
  integrityArea({ db, findDifferences: differencesIn(db), ...createVerifyJob(db, databaseUrl) });
