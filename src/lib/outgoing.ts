import { readFileSync } from 'node:fs';
import { setGlobalProxyFromEnv } from 'node:http';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { UsageError } from './errors.ts';

/** The proxies of the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), and never one for this machine itself. */
export function outgoingProxies() {
  // The proxies are a fact about the machine's network, as for every other program on it.
  // oxlint-disable-next-line node/no-process-env
  const { env } = process;
  const { no_proxy: lower, NO_PROXY: upper } = env;
  const NO_PROXY = [lower ?? upper ?? [], 'localhost', '127.0.0.1', '::1'].flat().join(',');
  return { ...env, NO_PROXY, no_proxy: NO_PROXY };
}

/**
 * Sends the requests of this process by the proxies of its environment, and trusts the authorities in this file besides
 * those that Node.js knows. Agents with options of their own need `outgoingProxies` as well.
 */
export function configureOutgoing(caFile: string | undefined): void {
  setGlobalProxyFromEnv(outgoingProxies());
  if (caFile === undefined) return;
  const pem = readAuthorities('CLOUD_CA_FILE', caFile);
  const known = ['bundled', 'extra'] as const;
  try {
    setDefaultCACertificates([...known.flatMap((type) => getCACertificates(type)), pem]);
  } catch (error) {
    throw new UsageError(`CLOUD_CA_FILE contains no PEM certificates: ${caFile}`, { cause: error });
  }
}

/** The certificates of a file that a setting names. */
export function readAuthorities(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${setting} cannot be read: ${file}`, { cause: error });
  }
}
