import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import type { Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { ErrorRequestHandler, Express, Request, Response } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { isMessageType, MESSAGE_TYPES } from '../domain.ts';
import { describeError, RefusedError } from '../errors.ts';
import { trackConnections } from './connections.ts';
import { receiveDelivery } from './receive-delivery.ts';
import type { ReceiveOptions } from './receive-delivery.ts';

/** The ingest listener. */
export interface IngestServer {
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

/** What the ingest listener needs. */
export interface IngestServerOptions extends ReceiveOptions {
  /** The parts that answers depend on: each resolves when it works and throws when it does not. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  readonly tls: TlsCertificate | undefined;
  readonly logger: Logger;
}

/** A sender has this long for its headers and for the whole request; a slow one is cut off with 408. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const CONNECTIONS_CHECK_INTERVAL_MS = 2_000;

/** Longer than the idle time of common load balancers (60 s), so that they never reuse a closing connection. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** At the end, longer than the queue may take for what is in hand (5 s). */
const CLOSE_GRACE_MS = 6_000;

/** Builds the HTTP server that receives deliveries. */
export function createIngestServer(options: IngestServerOptions): IngestServer {
  const app = createApp(options);
  const serverOptions = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: CONNECTIONS_CHECK_INTERVAL_MS,
  };
  const server: Server | TlsServer =
    options.tls === undefined
      ? createHttpServer(serverOptions, app)
      : createHttpsServer({ ...serverOptions, ...options.tls, handshakeTimeout: HEADERS_TIMEOUT_MS }, app);
  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => resolve(portOf(server.address())));
      }),
    useCertificate(tls) {
      if (!('setSecureContext' in server)) throw new Error('the listener has no TLS');
      server.setSecureContext(tls);
    },
    close: trackConnections(server, CLOSE_GRACE_MS),
  };
}

function createApp(options: IngestServerOptions): Express {
  const app = express();
  app.disable('etag');
  app.set('query parser', false);
  app.use(helmet());
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.get('/readyz', (_request, response) => answerReadiness(options.checks, response));
  app
    .route('/ingest/:source/:messageType')
    .post((request, response) => answerDelivery(request, response, options))
    .all((_request, response) => {
      response.set('Allow', 'POST');
      throw new RefusedError(405, 'METHOD_NOT_ALLOWED', 'deliveries come by POST');
    });
  app.use((request) => {
    throw new RefusedError(404, 'NOT_FOUND', `nothing is at ${request.path}`);
  });
  app.use(errorAnswerer(options.logger));
  return app;
}

async function answerDelivery(
  request: Request<{ source: string; messageType: string }>,
  response: Response,
  options: IngestServerOptions,
): Promise<void> {
  const { source, messageType } = request.params;
  if (!isMessageType(messageType)) {
    throw new RefusedError(404, 'NO_SUCH_MESSAGE_TYPE', `message types are ${MESSAGE_TYPES.join(', ')}`);
  }
  const remoteAddress = request.socket.remoteAddress ?? '';
  response.json(await receiveDelivery(request, { source, messageType, remoteAddress }, options));
}

async function answerReadiness(checks: IngestServerOptions['checks'], response: Response): Promise<void> {
  const parts = await Promise.all(
    Object.entries(checks).map(
      async ([name, check]) => [name, await check().then(() => 'ok', describeError)] as const,
    ),
  );
  const ready = parts.every(([, state]) => state === 'ok');
  response
    .status(ready ? 200 : 503)
    .json({ status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(parts) });
}

/** Errors have the shape of the cloud's own: specification, "Error body". */
function errorAnswerer(logger: Logger): ErrorRequestHandler {
  // Express tells an error handler by its four parameters.
  return (error: unknown, request, response, _next) => {
    const errorId = randomUUID();
    const refused = asRefused(error);
    const { status, code, message, retryAfter } = refused;
    const line = {
      errorId,
      status,
      method: request.method,
      path: request.path,
      remote: request.socket.remoteAddress,
    };
    if (status >= 500) logger.error({ ...line, err: error }, message);
    else logger.warn(line, message);
    if (response.headersSent) return;
    if (retryAfter !== undefined) response.set('Retry-After', String(retryAfter));
    // Many senders hold their password back until they are asked for it (RFC 9110, section 11.6.1).
    if (status === 401) response.set('WWW-Authenticate', 'Basic realm="xiq-sink"');
    // The rest of a body that was refused is not worth waiting for.
    if (!request.complete) response.set('Connection', 'close');
    response.status(status).json({ error_code: code, error_id: errorId, error_message: message });
  };
}

function asRefused(error: unknown): RefusedError {
  if (error instanceof RefusedError) return error;
  // Express reports a malformed path parameter as a 400 of its own.
  if (error instanceof URIError)
    return new RefusedError(400, 'BAD_REQUEST', 'the path is not valid', { cause: error });
  return new RefusedError(500, 'INTERNAL_ERROR', 'the delivery was not taken; send it again', {
    cause: error,
  });
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the listener has no port');
  return address.port;
}
