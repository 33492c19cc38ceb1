import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { UsageError } from '../errors.ts';
import type { TlsCertificate } from './http-listener.ts';

/** Where the certificate (with its full chain) and its key are. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** How often the files are looked at: a renewed certificate is in use within this time. */
const WATCH_INTERVAL_MS = 5_000;

/** Reads certificate and key. Throws a UsageError that names the setting when one cannot be read. */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): TlsCertificate {
  return { cert: readPem('TLS_CERT_FILE', certFile), key: readPem('TLS_KEY_FILE', keyFile) };
}

function readPem(setting: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`${setting} ${file} cannot be read`, { cause: error });
  }
}

/** Calls back whenever one of the files has changed. Gives the function that ends the watch. */
export function watchTlsFiles({ certFile, keyFile }: TlsFiles, onChange: () => void): () => void {
  const files = [certFile, keyFile];
  for (const file of files) watchFile(file, { interval: WATCH_INTERVAL_MS, persistent: false }, onChange);
  return () => {
    for (const file of files) unwatchFile(file, onChange);
  };
}
