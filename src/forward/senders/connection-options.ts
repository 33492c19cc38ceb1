import { createPrivateKey, X509Certificate } from 'node:crypto';
import tls, { type ConnectionOptions } from 'node:tls';
import { once } from 'node:events';
import net from 'node:net';
import { z } from 'zod';

const PORT = 'must be a port from 1 to 65535';

export const hostOption = z.string().min(1, 'must be a host name or address');

export const portOption = (usual: number) => z.int(PORT).min(1, PORT).max(65_535, PORT).default(usual);

/** The longest time for one exchange, in seconds. */
export const timeoutOption = (longest: number, usual: number) => {
  const problem = `must be 0.1 to ${longest} seconds`;
  return z.number(problem).min(0.1, problem).max(longest, problem).default(usual);
};

const certificates = z.string().refine(
  parses((pem) => new X509Certificate(pem)),
  'must be certificates in PEM form (-----BEGIN CERTIFICATE-----)',
);

const privateKey = z.string().refine(
  parses((pem) => createPrivateKey(pem)),
  'must be a private key in PEM form without a passphrase',
);

/** Which authorities to trust and which certificate to present, as PEM text. No option turns verification off. */
export const tlsOptions = z
  .strictObject({
    /** The certificate authorities to trust instead of the public ones. */
    ca: certificates.optional(),
    /** The client certificate with its chain, for a destination that requests one. */
    certificate: certificates.optional(),
    key: privateKey.optional(),
    /** The name in the destination's certificate, if it differs from the host. */
    server_name: z.string().min(1, 'must be a host name').optional(),
  })
  .refine(
    ({ certificate, key }) => (certificate === undefined) === (key === undefined),
    'certificate and key must be set together',
  );

type TlsOptions = z.output<typeof tlsOptions>;

/** The options for `tls.connect` and `https.Agent`: verified, at least TLS 1.2. */
export function tlsConnectionOptions(options: TlsOptions | undefined): ConnectionOptions {
  return {
    minVersion: 'TLSv1.2',
    // The default, but NODE_TLS_REJECT_UNAUTHORIZED would change it.
    rejectUnauthorized: true,
    ...(options?.ca === undefined ? {} : { ca: options.ca }),
    ...(options?.certificate === undefined ? {} : { cert: options.certificate }),
    ...(options?.key === undefined ? {} : { key: options.key }),
    ...(options?.server_name === undefined ? {} : { servername: options.server_name }),
  };
}

function parses(parse: (text: string) => unknown): (text: string) => boolean {
  return (text) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };
}

export interface StreamOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined: plain TCP. */
  readonly tls: TlsOptions | undefined;
  readonly timeoutMs: number;
}

const KEEP_ALIVE_DELAY_MS = 30_000;

/** Opens a TCP or TLS connection. Rejects with the system's error. */
export async function connectStream({
  host,
  port,
  tls: trust,
  timeoutMs,
}: StreamOptions): Promise<net.Socket> {
  const socket =
    trust === undefined
      ? net.connect({ host, port })
      : tls.connect({ host, port, ...tlsConnectionOptions(trust) });
  const connected = trust === undefined ? 'connect' : 'secureConnect';
  try {
    await once(socket, connected, { signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  socket.setNoDelay();
  // A kept connection can be silent for hours; keep-alive detects a receiver that has gone in the meantime.
  socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
  return socket;
}
