import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Whether certificates can be made here. */
export const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** A certificate that is its own authority, and its key, as PEM texts and as files. */
export interface TestCertificate extends Disposable {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** Makes a certificate for the names, such as `IP:127.0.0.1` or `DNS:siem.test`, in a temporary directory. */
export function makeCertificate(...names: string[]): TestCertificate {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-certificate-'));
  const certFile = path.join(directory, 'certificate.pem');
  const keyFile = path.join(directory, 'key.pem');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=${names.join(',')}`];
  execFileSync(
    'openssl',
    ['req', '-x509', '-days', '2', ...key, ...subject, '-keyout', keyFile, '-out', certFile],
    { stdio: 'ignore' },
  );
  return {
    cert: readFileSync(certFile, 'utf8'),
    key: readFileSync(keyFile, 'utf8'),
    certFile,
    keyFile,
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}
