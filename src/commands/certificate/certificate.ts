import { readFile, writeFile } from 'node:fs/promises';
import { signedCertificate } from '../../console/certificate/certificate-page.ts';
import { readCertificate, type CertificateRange } from '../../store/seal/certificate.ts';
import { isProven, verifyLog, type ArchivedEvents } from '../../seal/verify/verify-log.ts';
import type { Trust } from '../../seal/trust.ts';
import { readSignedDocument } from '../../seal/signed-document.ts';
import type { LogKey } from '../../seal/signed-note.ts';
import type { Db } from '../../store/server/database.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { readSealState } from '../../store/seal/seal-log.ts';
import { note, print } from '../shared/output.ts';
import { createProgress } from '../shared/progress.ts';
import { recordCommand } from '../shared/record.ts';

/** `certificate`: compares the rows of a month, and writes what is proven of them. Resolves with whether all are as sealed. */
export async function makeCertificate(
  { db, archived }: { readonly db: Db; readonly archived: ArchivedEvents },
  trust: Trust,
  key: LogKey | undefined,
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
        { ...range, anchors: [], trust, archived },
        () => undefined,
        (done) => progress.show(done),
      ),
    ({ altered, missing, inserted, doubts }) => ({ altered, missing, inserted, doubts }),
  );
  progress.clear();
  const scope = source === undefined ? ALL_SOURCES : [source];
  const certificate = await readCertificate(db, scope, range, summary);
  const text = asJson
    ? `${JSON.stringify(certificate, undefined, 2)}\n`
    : signedCertificate(certificate, key);
  if (file === undefined) print(text.trimEnd());
  else await writeFile(file, text);
  if (!asJson && key === undefined)
    note("The certificate is not signed: the log's key is not on this machine.");
  if (file !== undefined) note(`${file} written. Open it in a browser to print it or save it as a PDF.`);
  for (const doubt of summary.doubts) note(doubt);
  return isProven(summary);
}

/** `verify-certificate`: checks a signed certificate, without a database. Resolves with whether it is as it was signed. */
export async function verifyCertificate(file: string, keys: readonly string[]): Promise<boolean> {
  const text = await readFile(file, 'utf8');
  try {
    const { name, publicKey } = readSignedDocument(text, keys);
    print(`${file}: ${name}, unchanged since it was signed with ${publicKey}`);
    if (keys.length === 0)
      note('Compare this key with the one that you trust, or pass the trusted key with --key.');
    return true;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    print(`${file}: NOT PROVEN: ${error.message}`);
    return false;
  }
}
