import { certificateArea } from '../../../src/console/certificate/certificate-area.ts';
import type { Area } from '../../../src/console/area.ts';
import { integrityArea } from '../../../src/console/integrity/integrity-area.ts';
import type { LogKey } from '../../../src/seal/signed-note.ts';
import { createVerifyJob } from '../../../src/seal/verify/verify-job.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { knowing, nothingKnown } from '../../support/trust.ts';

/**
 * The pages Integrity and Certificate, as the service composes them. Verifications run in the database at the address, if there
 * is one; with a key, they can prove something.
 */
export function integrityForTests(
  db: Db,
  databaseUrl = 'postgres://nobody@127.0.0.1:1/none',
  key?: LogKey,
): readonly Area[] {
  const trust = key === undefined ? nothingKnown : async () => knowing(key);
  const verifying = createVerifyJob(db, databaseUrl, trust);
  return [integrityArea(db, verifying), certificateArea({ db, verifying, signingKey: async () => key })];
}
