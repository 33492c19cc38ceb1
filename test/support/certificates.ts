import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  return makeOwnCertificate(2, ...names);
}

/** The same, valid for so many days. */
export function makeOwnCertificate(days: number, ...names: string[]): TestCertificate {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-certificate-'));
  const certFile = path.join(directory, 'certificate.pem');
  const keyFile = path.join(directory, 'key.pem');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=${names.join(',')}`];
  execFileSync(
    'openssl',
    ['req', '-x509', '-days', String(days), ...key, ...subject, '-keyout', keyFile, '-out', certFile],
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

/** Longer than that of any certificate. */
const AUTHORITY_DAYS = 1_000;

/**
 * Makes a certificate that an authority of its own has signed, valid for so many days from now (-1: until yesterday).
 * The certificate's file has the authority's behind it, as a server sends them.
 */
export function makeSignedCertificate(days: number, ...names: string[]): TestCertificate {
  const authority = makeOwnCertificate(AUTHORITY_DAYS, 'DNS:authority.test');
  const directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-certificate-'));
  const fileOf = (name: string) => path.join(directory, `${name}.pem`);
  const [certFile, keyFile] = [fileOf('certificate'), fileOf('key')];
  const [request, extensions] = [fileOf('request'), fileOf('extensions')];
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  openssl('req', ...key, '-subj', '/CN=server', '-out', request);
  writeFileSync(extensions, `subjectAltName=${names.join(',')}\n`);
  const signer = ['-CA', authority.certFile, '-CAkey', authority.keyFile, '-CAcreateserial'];
  const validity = ['-days', String(days), '-extfile', extensions];
  openssl('x509', '-req', '-in', request, ...signer, ...validity, '-out', certFile);
  const cert = readFileSync(certFile, 'utf8') + authority.cert;
  writeFileSync(certFile, cert);
  return {
    cert,
    key: readFileSync(keyFile, 'utf8'),
    certFile,
    keyFile,
    [Symbol.dispose]: () => {
      rmSync(directory, { recursive: true });
      authority[Symbol.dispose]();
    },
  };
}
