import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'ignore' });

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** What is made in a temporary directory: the files `certificate` and `key` of its names. */
function makeIn(make: (fileOf: (name: string) => string) => void): TestCertificate {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-certificate-'));
  const fileOf = (name: string) => path.join(directory, `${name}.pem`);
  make(fileOf);
  const [certFile, keyFile] = [fileOf('certificate'), fileOf('key')];
  return {
    cert: readFileSync(certFile, 'utf8'),
    key: readFileSync(keyFile, 'utf8'),
    certFile,
    keyFile,
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}

/** Makes a certificate for the names, such as `IP:127.0.0.1` or `DNS:siem.test`. */
export const makeCertificate = (...names: string[]): TestCertificate => makeOwnCertificate(2, ...names);

/** The same, valid for so many days. */
export const makeOwnCertificate = (days: number, ...names: string[]): TestCertificate =>
  makeIn((fileOf) => {
    const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=${names.join(',')}`];
    const files = ['-keyout', fileOf('key'), '-out', fileOf('certificate')];
    openssl('req', '-x509', '-days', String(days), ...NEW_KEY, ...subject, ...files);
  });

/** Longer than that of any certificate. */
const AUTHORITY_DAYS = 1_000;

/**
 * Makes a certificate that an authority of its own has signed, valid for so many days from now (-1: until yesterday).
 * The certificate's file has the authority's behind it, as a server sends them.
 */
export const makeSignedCertificate = (days: number, ...names: string[]): TestCertificate =>
  makeIn((fileOf) => {
    using authority = makeOwnCertificate(AUTHORITY_DAYS, 'DNS:authority.test');
    openssl('req', ...NEW_KEY, '-subj', '/CN=server', '-keyout', fileOf('key'), '-out', fileOf('request'));
    writeFileSync(fileOf('extensions'), `subjectAltName=${names.join(',')}\n`);
    const signer = ['-CA', authority.certFile, '-CAkey', authority.keyFile, '-CAcreateserial'];
    const validity = ['-days', String(days), '-extfile', fileOf('extensions')];
    const files = ['-in', fileOf('request'), '-out', fileOf('certificate')];
    openssl('x509', '-req', ...signer, ...validity, ...files);
    appendFileSync(fileOf('certificate'), authority.cert);
  });
