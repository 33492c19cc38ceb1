import { createServer as createHttpServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { trackConnections } from './connections.ts';

/** A listening HTTP or HTTPS server. */
export interface HttpListener {
  /** Resolves with the port once it listens. */
  listen(port: number, host: string): Promise<number>;
  /** Serves new connections with another certificate. Throws when it is not one, or when the listener has no TLS. */
  useCertificate(tls: TlsCertificate): void;
  /** Takes no further connection, answers the requests in hand, ends every connection. */
  close(): Promise<void>;
}

/** Certificate with its full chain, and key, in PEM. */
export interface TlsCertificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** A sender has this long for its headers and for the whole request; a slow one is cut off with 408. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const CONNECTIONS_CHECK_INTERVAL_MS = 2_000;

/** Longer than the idle time of common load balancers (60 s), so that they never reuse a closing connection. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** At the end, longer than the queue may take for what is in hand (5 s). */
const CLOSE_GRACE_MS = 6_000;

/** Creates a listener that hands its requests to `app`, by HTTPS when it is given a certificate. */
export function createHttpListener(app: RequestListener, tls: TlsCertificate | undefined): HttpListener {
  const options = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: CONNECTIONS_CHECK_INTERVAL_MS,
  };
  const server: Server | TlsServer =
    tls === undefined
      ? createHttpServer(options, app)
      : createHttpsServer({ ...options, ...tls, handshakeTimeout: HEADERS_TIMEOUT_MS }, app);
  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => resolve(portOf(server.address())));
      }),
    useCertificate(certificate) {
      if (!('setSecureContext' in server)) throw new Error('the listener has no TLS');
      server.setSecureContext(certificate);
    },
    close: trackConnections(server, CLOSE_GRACE_MS),
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the listener has no port');
  return address.port;
}
