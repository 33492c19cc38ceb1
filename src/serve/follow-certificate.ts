import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { HttpListener } from '../ingest/http-listener.ts';
import { readTlsFiles, watchTlsFiles } from '../ingest/tls-files.ts';
import type { Opened } from './opened.ts';

/** Gives a listener each certificate that comes to stand in the files; one that cannot be used leaves the old one. */
export function followCertificate(
  files: NonNullable<Config['tls']>,
  listener: HttpListener,
  logger: Logger,
  opened: Opened,
): void {
  const unwatch = watchTlsFiles(files, () => {
    try {
      listener.useCertificate(readTlsFiles(files));
      logger.info(files, 'TLS certificate reloaded');
    } catch (error) {
      logger.error({ err: error, ...files }, 'the changed TLS certificate cannot be used; the old one stays');
    }
  });
  opened.push('TLS watch', async () => unwatch());
}
