import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { reasonOf, UsageError } from '../lib/errors.ts';
import type { TlsCertificate } from './http-listener.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** How often the files are checked: a renewed certificate is in use within this time. */
const WATCH_INTERVAL_MS = 5_000;

/** Reads certificate and key. Throws a UsageError with the name of the setting if one can't be read. */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): TlsCertificate {
  return { cert: readPem('TLS_CERT_FILE', certFile), key: readPem('TLS_KEY_FILE', keyFile) };
}

function readPem(setting: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new UsageError(`Can't read ${setting} ${file} (${reasonOf(cause)}).`, { cause });
  }
}

/** Calls `onChange` whenever one of the files changes. Returns the function that ends the watch. */
export function watchTlsFiles({ certFile, keyFile }: TlsFiles, onChange: () => void): () => void {
  const files = [certFile, keyFile];
  for (const file of files) watchFile(file, { interval: WATCH_INTERVAL_MS, persistent: false }, onChange);
  return () => {
    for (const file of files) unwatchFile(file, onChange);
  };
}
