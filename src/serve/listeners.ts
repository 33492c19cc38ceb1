import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { Config } from '../config/config.ts';
import { createAdminApp, type ConsoleOptions } from '../console/admin-app.ts';
import { UsageError } from '../lib/errors.ts';
import { createFailedSecrets } from '../ingest/failed-secrets.ts';
import { createHttpListener, type HttpListener } from '../ingest/http-listener.ts';
import { createRefusalLog } from '../ingest/refusal-log.ts';
import { readTlsFiles, watchTlsFiles } from '../ingest/tls-files.ts';
import { isLoopbackHost } from '../lib/loopback.ts';
import { closeLogged } from '../lib/close-logged.ts';

/** Starts the listener for deliveries, or for health checks alone, which drains at the signal. Resolves with its port. */
export async function startListener(
  { host, port, tls }: Config,
  listener: HttpListener,
  draining: AbortSignal,
  logger: Logger,
  opened: AsyncDisposableStack,
): Promise<number> {
  const listening = await listen(listener, host, port);
  opened.defer(closeLogged(logger, 'listener', () => listener.close()));
  draining.addEventListener('abort', () => listener.drain());
  if (tls !== undefined) followCertificate(tls, listener, logger, opened);
  return listening;
}

export interface AdminParts {
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly console: ConsoleOptions | undefined;
  readonly draining: AbortSignal;
}

/**
 * Starts the admin listener. Resolves with its port. Off this machine it uses the certificate of the ingest listener, so
 * that the token is never sent in the clear.
 */
export async function startAdminListener(
  config: Config,
  { draining, ...parts }: AdminParts,
  logger: Logger,
  opened: AsyncDisposableStack,
): Promise<number> {
  const { host, port, token } = config.admin;
  const stopping = new AbortController();
  const failures = createFailedSecrets();
  const refusals = createRefusalLog(logger);
  const app = createAdminApp({
    ...parts,
    token,
    trustedProxies: config.trustedProxies,
    countFailure: (address) => failures.count(address),
    logRefusal: (refusal, message) => refusals.add(refusal, message),
    version: packageJson.version,
    stopping: stopping.signal,
    logger,
  });
  const isOpen = !isLoopbackHost(host);
  const tlsFiles = isOpen ? config.tls : undefined;
  if (isOpen && tlsFiles === undefined) {
    logger.warn(
      'the admin listener accepts plain HTTP from other machines: set TLS_CERT_FILE, or put a TLS proxy in front',
    );
  }
  const listener = createHttpListener(app, tlsFiles && readTlsFiles(tlsFiles));
  if (tlsFiles !== undefined) followCertificate(tlsFiles, listener, logger, opened);
  const listening = await listen(listener, host, port, 'ADMIN_');
  draining.addEventListener('abort', () => listener.drain());
  const close = async () => {
    stopping.abort();
    await listener.close();
    refusals.flush();
  };
  opened.defer(closeLogged(logger, 'admin listener', close));
  return listening;
}

/** Listens. Throws a UsageError that names the setting to change if the system does not allow it. */
async function listen(listener: HttpListener, host: string, port: number, settings = ''): Promise<number> {
  try {
    return await listener.listen(port, host);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    switch (code) {
      case 'EADDRINUSE':
        throw new UsageError(
          `Port ${port} is already in use. Stop the other program (perhaps another xiq-sink), or set ${settings}PORT to a free port.`,
          { cause },
        );
      case 'EACCES':
        throw new UsageError(
          `Port ${port} needs more privileges than this user has. Set ${settings}PORT to a port above 1023.`,
          { cause },
        );
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new UsageError(
          `${host} is not an address of this machine. Set ${settings}HOST to one that is, or to 0.0.0.0 for all.`,
          { cause },
        );
      default:
        throw cause;
    }
  }
}

/** Gives a listener each new certificate in the files. It keeps the old one if the new one is unusable. */
function followCertificate(
  files: NonNullable<Config['tls']>,
  listener: HttpListener,
  logger: Logger,
  opened: AsyncDisposableStack,
): void {
  const unwatch = watchTlsFiles(files, () => {
    try {
      listener.useCertificate(readTlsFiles(files));
      logger.info(files, 'TLS certificate reloaded');
    } catch (error) {
      logger.error(
        { err: error, ...files },
        'the new TLS certificate is unusable; the old one remains in use',
      );
    }
  });
  opened.defer(unwatch);
}
