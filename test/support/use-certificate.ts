import { afterAll } from 'vitest';
import { hasOpenssl, makeCertificate, type TestCertificate } from './certificates.ts';

const NONE = { cert: '', key: '', certFile: '', keyFile: '', [Symbol.dispose]: () => undefined };

/** A certificate of a test file's own, until its last test has ended; an empty one where none can be made. */
export function useCertificate(...names: string[]): TestCertificate {
  if (!hasOpenssl) return NONE;
  const certificate = makeCertificate(...names);
  afterAll(() => certificate[Symbol.dispose]());
  return certificate;
}
