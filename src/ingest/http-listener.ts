import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server as TlsServer } from 'node:https';
import { createAcceptors } from './acceptors.ts';
import { trackConnections } from './connections.ts';
import type { Socket } from 'node:net';

export type HttpListener = ReturnType<typeof createHttpListener>;

export interface TlsCertificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Limits for one sender and for all senders together. */
export const LIMITS = {
  /** Milliseconds for the headers and for the whole request; a slow sender is cut off with 408. */
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
  /** Longer than the idle time of common load balancers (60 s), so that they never reuse a closing connection. */
  keepAliveTimeout: 65_000,
  /** Bytes of all headers. A delivery with secret and signature needs at most a tenth of this. */
  maxHeaderSize: 16 * 1024,
  /** An idle connection costs 22 KiB, with TLS 69 KiB: 140 MB at worst. The cloud sends from few addresses. */
  maxConnections: 2_048,
};

/**
 * Older versions are broken (RFC 8996), and options of Node.js could enable them again. Of TLS 1.2, only suites with
 * forward secrecy and authenticated encryption (RFC 9325, 4.2).
 */
const TLS_OPTIONS = {
  minVersion: 'TLSv1.2',
  ciphers:
    'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20',
  handshakeTimeout: LIMITS.headersTimeout,
} as const;

/** At shutdown, longer than the queue may take for the requests in progress (5 s). */
const CLOSE_GRACE_MS = 6_000;

/**
 * Creates a listener that passes its requests to `app`, by HTTPS if it gets a certificate. It answers a missing or second
 * Host header and an unknown transfer coding with 400, and an unknown expectation with 417. `100 Continue` is sent when `app` begins to read the body.
 */
export function createHttpListener(
  app: RequestListener,
  tls: TlsCertificate | undefined,
  { maxConnections, ...limits }: typeof LIMITS = LIMITS,
) {
  // This listener checks the Host header itself: the server's own check allows a second one, and its answers would not
  // count as requests of the connection.
  const options = { ...limits, requireHostHeader: false };
  const server: Server | TlsServer =
    tls === undefined ? createHttpServer(options) : createHttpsServer({ ...options, ...TLS_OPTIONS, ...tls });
  const acceptors = createAcceptors(server);
  const { drain, close } = trackConnections(server, CLOSE_GRACE_MS, maxConnections);
  serveRequests(server, app);
  return {
    /** Resolves with the port once it listens. */
    listen: (port: number, host: string) => acceptors.listen(port, host),
    /** Serves new connections with another certificate. Throws if it is not valid, or if the listener has no TLS. */
    useCertificate(certificate: TlsCertificate): void {
      if (!('setSecureContext' in server)) throw new Error('the listener has no TLS');
      server.setSecureContext({ ...TLS_OPTIONS, ...certificate });
    },
    /** Answers every request with `Connection: close` from now on, and still accepts connections. */
    drain,
    /** Accepts no further connection, answers the requests in progress, ends every connection. */
    close(): Promise<void> {
      acceptors.close();
      return close();
    },
  };
}

function serveRequests(server: Server | TlsServer, app: RequestListener): void {
  const pass = limitPipelining();
  server.on('request', (request: IncomingMessage, response: ServerResponse) =>
    pass(request, response, isHostValid(request) && isTransferKnown(request) ? app : answerWith(400)),
  );
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Reading begins only after the headers, with the secret in them, were accepted. A body is also read to its end after
    // the answer, to be dropped.
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue();
    });
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    pass(request, response, answerWith(417)),
  );
}

/** RFC 9112, section 3.2. Programs in front of this one may use the other of two Host headers. */
function isHostValid({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const name = rawHeaders[n];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/** RFC 9112, section 6.1. Node.js decodes chunks alone, so a program in front of this one may see another body. */
function isTransferKnown({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.trim().toLowerCase() === 'chunked';
}

const answerWith =
  (status: number): RequestListener =>
  (_request, response) => {
    response.statusCode = status;
    response.setHeader('Connection', 'close');
    response.end();
  };

/** Unanswered requests of one connection. Browsers and the cloud send one at a time. */
const MAX_UNANSWERED = 8;

/** Passes a request of a connection on to `serve`, or drops it. */
type ServeRequest = (request: IncomingMessage, response: ServerResponse, serve: RequestListener) => void;

interface Connection {
  unanswered: number;
  latest: ServerResponse;
}

/**
 * Bounds the work that one connection can cause with a single write. Node.js passes on every request in the bytes that
 * it has read, thousands of them, before it looks at any other connection. This passes on the first and lets the others
 * wait for the next turn of the event loop. A connection with more than 8 unanswered requests is destroyed. Nothing is
 * passed on from a connection that is destroyed or was answered with `Connection: close`.
 */
function limitPipelining(): ServeRequest {
  const connections = new WeakMap<Socket, Connection>();

  const pass: ServeRequest = (request, response, serve) => {
    const { socket } = request;
    let connection = connections.get(socket);
    if (connection === undefined) connections.set(socket, (connection = { unanswered: 0, latest: response }));
    if (isEnding(socket, connection.latest)) {
      stopParsing(socket);
      return;
    }
    if (connection.unanswered === MAX_UNANSWERED) {
      socket.destroy();
      stopParsing(socket);
      return;
    }
    connection.unanswered += 1;
    response.on('close', () => {
      connection.unanswered -= 1;
    });
    const run = () => {
      if (isEnding(socket, connection.latest)) return;
      connection.latest = response;
      serve(request, response);
    };
    if (connection.unanswered === 1) run();
    else setImmediate(run);
  };
  return pass;
}

/** Whether the connection cannot carry another answer after the latest one. */
function isEnding(socket: Socket, latest: ServerResponse): boolean {
  if (!socket.writable) return true;
  return latest.headersSent && (!latest.shouldKeepAlive || latest.getHeader('Connection') === 'close');
}

/**
 * Drops the rest of the bytes that were read from the connection. Without this, each request in them still costs 20 us
 * of parsing: 18 s for 300 connections with 1,700 requests each. Node.js documents neither the parser nor this answer
 * of `onIncoming` (2: the connection is upgraded, and its further bytes are not HTTP). If a version has no such
 * parser, the rest is parsed and dropped request by request.
 */
function stopParsing(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, 'parser');
  if (typeof parser !== 'object' || parser === null) return;
  if ('onIncoming' in parser && typeof parser.onIncoming === 'function') parser.onIncoming = () => 2;
}
