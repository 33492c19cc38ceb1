import { writeFile } from 'node:fs/promises';
import { certificateDocument } from '../../console/certificate/certificate-page.ts';
import { readCertificate, type CertificateRange } from '../../store/seal/certificate.ts';
import { isProven, verifyLog } from '../../seal/verify/verify-log.ts';
import type { Trust } from '../../seal/trust.ts';
import type { Db } from '../../store/server/database.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { readSealState } from '../../store/seal/seal-log.ts';
import { note, print } from '../shared/output.ts';
import { createProgress } from '../shared/progress.ts';
import { recordCommand } from '../shared/record.ts';

/** `certificate`: compares the rows of a month, and writes what is proven of them. Resolves with whether all are as sealed. */
export async function makeCertificate(
  db: Db,
  trust: Trust,
  range: CertificateRange,
  file: string | undefined,
  asJson: boolean,
): Promise<boolean> {
  const { month, source } = range;
  const progress = createProgress('verified', (await readSealState(db)).size);
  const summary = await recordCommand(
    db,
    { action: 'certificate.make', subject: month, details: { source } },
    () =>
      verifyLog(
        db,
        { ...range, anchors: [], trust },
        () => undefined,
        (done) => progress.show(done),
      ),
    ({ altered, missing, inserted, doubts }) => ({ altered, missing, inserted, doubts }),
  );
  progress.clear();
  const scope = source === undefined ? ALL_SOURCES : [source];
  const certificate = await readCertificate(db, scope, range, summary);
  const text = asJson ? JSON.stringify(certificate, undefined, 2) : certificateDocument(certificate);
  if (file === undefined) print(text);
  else await writeFile(file, `${text}\n`);
  if (file !== undefined) note(`${file} written. A browser prints it, or makes a PDF of it.`);
  for (const doubt of summary.doubts) note(doubt);
  return isProven(summary);
}
