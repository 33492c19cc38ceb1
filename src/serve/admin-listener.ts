import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { createAdminApp } from '../console/admin-app.ts';
import type { ConsoleOptions } from '../console/admin-app.ts';
import { createFailedSecrets } from '../ingest/failed-secrets.ts';
import { createHttpListener } from '../ingest/http-listener.ts';
import { readTlsFiles } from '../ingest/tls-files.ts';
import { isLoopbackHost } from '../loopback.ts';
import type { Opened } from './opened.ts';
import { followCertificate } from './follow-certificate.ts';
import { VERSION } from './version.ts';

/** What the admin listener serves, beside what the settings say. */
export interface AdminParts {
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  /** Undefined in a role without the console. */
  readonly console: ConsoleOptions | undefined;
}

/**
 * Starts the admin listener and resolves with its port. Off this machine it takes the certificate of the ingest
 * listener, so that the token is never sent in the clear.
 */
export async function startAdmin(
  config: Config,
  parts: AdminParts,
  logger: Logger,
  opened: Opened,
): Promise<number> {
  const { host, port, token } = config.admin;
  const stopping = new AbortController();
  const failures = createFailedSecrets();
  const app = createAdminApp({
    ...parts,
    token,
    countFailure: (address) => failures.count(address),
    version: VERSION,
    stopping: stopping.signal,
    logger,
  });
  const isOpen = !isLoopbackHost(host);
  const tlsFiles = isOpen ? config.tls : undefined;
  if (isOpen && tlsFiles === undefined) {
    logger.warn(
      'the admin listener speaks plain HTTP off this machine: set TLS_CERT_FILE, or put a TLS proxy in front',
    );
  }
  const listener = createHttpListener(app, tlsFiles && readTlsFiles(tlsFiles));
  if (tlsFiles !== undefined) followCertificate(tlsFiles, listener, logger, opened);
  const listening = await listener.listen(port, host);
  opened.push('admin listener', () => {
    stopping.abort();
    return listener.close();
  });
  return listening;
}
