import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { TlsCertificate } from './http-listener.ts';

/** Where the certificate (with its full chain) and its key are. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** How often the files are looked at: a renewed certificate is in use within this time. */
const WATCH_INTERVAL_MS = 5_000;

/** Reads certificate and key. Throws when one cannot be read. */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): TlsCertificate {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

/** Calls back whenever one of the files has changed. Gives the function that ends the watch. */
export function watchTlsFiles({ certFile, keyFile }: TlsFiles, onChange: () => void): () => void {
  const files = [certFile, keyFile];
  for (const file of files) watchFile(file, { interval: WATCH_INTERVAL_MS, persistent: false }, onChange);
  return () => {
    for (const file of files) unwatchFile(file, onChange);
  };
}
