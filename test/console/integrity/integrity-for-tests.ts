import type { Area } from '../../../src/console/area.ts';
import { integrityArea } from '../../../src/console/integrity/integrity-area.ts';
import { VerifyJob } from '../../../src/seal/verify/verify-job.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { nothingKnown } from '../../support/trust.ts';

/** The page Integrity, as the service composes it. Verifications run in the database at the address, if there is one. */
export const integrityForTests = (db: Db, databaseUrl = 'postgres://nobody@127.0.0.1:1/none'): Area =>
  integrityArea(db, new VerifyJob(db, databaseUrl, nothingKnown));
