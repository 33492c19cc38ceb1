import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import express from 'express';
import type { ErrorRequestHandler, Express, Request, Response } from 'express';
import helmet from 'helmet';
import type { HelmetOptions } from 'helmet';
import type { Logger } from 'pino';
import { isMessageType, MESSAGE_TYPES } from '../domain.ts';
import { HttpError } from '../errors.ts';
import { OVERLOADED } from './admission.ts';
import type { Admission } from './admission.ts';
import { createHttpListener } from './http-listener.ts';
import type { HttpListener, TlsCertificate } from './http-listener.ts';
import { isProven, receiveDelivery } from './receive-delivery.ts';
import type { IngestObserver, ReceiveOptions } from './receive-delivery.ts';
import { createRefusalLog } from './refusal-log.ts';
import type { RefusalLog } from './refusal-log.ts';
import { RATE_LIMITED } from './source-rates.ts';

/** The dependencies of the routes about the process's health. */
export interface HealthOptions {
  readonly readiness: { ask(): Promise<{ readonly status: 'ok' | 'degraded' | 'unavailable' }> };
  readonly observer: IngestObserver;
  readonly tls: TlsCertificate | undefined;
  readonly logger: Logger;
}

/** The dependencies of receiving deliveries. */
export interface IngestServerOptions extends ReceiveOptions, HealthOptions {
  readonly admission: Admission;
  /** The proxies whose `X-Forwarded-For` is trusted: their number, or their addresses. Undefined: none. */
  readonly trustedProxies: number | readonly string[] | undefined;
}

/**
 * No browser shows these answers. The headers that forbid scripts and framing stay; the headers about pages are off:
 * they took 700 bytes of each answer, and a fifth of its cost for sender and receiver.
 */
const HEADERS: HelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  crossOriginOpenerPolicy: false,
  crossOriginResourcePolicy: false,
  originAgentCluster: false,
  referrerPolicy: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xFrameOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
};

/** The id that finds the log lines of an answer: that of the delivery, or that of the error. */
const REQUEST_ID_HEADER = 'X-Request-Id';

/** Creates the server that receives deliveries and answers requests about its health. */
export function createIngestServer(options: IngestServerOptions): HttpListener {
  const app = createApp(options);
  if (options.trustedProxies !== undefined) app.set('trust proxy', options.trustedProxies);
  app
    .route('/ingest/:source/:messageType')
    .post((request, response) => answerDelivery(request, response, options))
    .all((_request, response) => {
      response.set('Allow', 'POST');
      throw new HttpError(405, 'METHOD_NOT_ALLOWED', 'send deliveries with POST');
    });
  return listenWith(app, options);
}

/** Creates the server of a process that receives no deliveries: it only answers requests about its health. */
export function createHealthServer(options: HealthOptions): HttpListener {
  return listenWith(createApp(options), options);
}

function createApp({ readiness }: HealthOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(helmet(HEADERS));
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.get('/readyz', async (_request, response) => {
    const answer = await readiness.ask();
    response.status(answer.status === 'unavailable' ? 503 : 200).json(answer);
  });
  return app;
}

function listenWith(app: Express, { tls, logger, observer }: HealthOptions): HttpListener {
  app.use((request) => {
    throw new HttpError(404, 'NOT_FOUND', `there is nothing at ${request.path}`);
  });
  const refusals = createRefusalLog(logger);
  app.use(answerErrors(logger, refusals, observer));
  const listener = createHttpListener(app, tls);
  return {
    ...listener,
    async close() {
      await listener.close();
      refusals.flush();
    },
  };
}

async function answerDelivery(
  request: Request<{ source: string; messageType: string }>,
  response: Response,
  { admission, ...options }: IngestServerOptions,
): Promise<void> {
  const { source, messageType } = request.params;
  if (!isMessageType(messageType)) {
    throw new HttpError(
      404,
      'NO_SUCH_MESSAGE_TYPE',
      `unknown message type: use one of ${MESSAGE_TYPES.join(', ')}`,
    );
  }
  const addressed = { source, messageType, remoteAddress: remoteAddressOf(request) };
  const inFlight = admission.begin(source);
  try {
    const receipt = await receiveDelivery(request, addressed, inFlight, options);
    response.setHeader(REQUEST_ID_HEADER, receipt.delivery_id);
    response.json(receipt);
    options.logger.debug({ requestId: receipt.delivery_id, ...addressed, ...receipt }, 'delivery answered');
  } finally {
    // Even if the connection broke long ago: a delivery stays in memory until the queue has accepted it.
    inFlight.release();
  }
}

/**
 * The address that a request came from: the one that a trusted proxy reports (setting TRUST_PROXY), else the other end of
 * the connection. It is always an address: the text that a proxy forwards may be made up by the sender.
 */
function remoteAddressOf(request: Request): string {
  const { ip = '' } = request;
  return isIP(ip) === 0 ? (request.socket.remoteAddress ?? '') : ip;
}

/**
 * Answers every error in the shape of the cloud's own errors (specification, "Error body"), and logs it with its id. Repeated
 * refusals of senders without a proven secret are only counted.
 */
function answerErrors(logger: Logger, refusals: RefusalLog, observer: IngestObserver): ErrorRequestHandler {
  // Express recognizes an error handler by its four parameters.
  return (error: unknown, request, response, _next) => {
    const errorId = randomUUID();
    const { status, code, message, retryAfter } = asHttpError(error);
    const remote = remoteAddressOf(request);
    observer.refused(status);
    const line = { errorId, status, method: request.method, path: request.path, remote };
    // An overload is logged once, when it begins: a line for each rejected delivery would add to the load.
    if (code === OVERLOADED || code === RATE_LIMITED) logger.debug(line, message);
    else if (status >= 500) logger.error({ ...line, err: error }, message);
    else if (isProven(request)) logger.warn(line, message);
    else refusals.add(line, message);
    if (response.headersSent) return;
    response.set(REQUEST_ID_HEADER, errorId);
    if (retryAfter !== undefined) response.set('Retry-After', String(retryAfter));
    // Many senders send their password only when an answer requests it (RFC 9110, section 11.6.1).
    if (status === 401) response.set('WWW-Authenticate', 'Basic realm="xiq-sink"');
    // Do not wait for the rest of a rejected body.
    if (!request.complete) response.set('Connection', 'close');
    response.status(status).json({ error_code: code, error_id: errorId, error_message: message });
  };
}

function asHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  // Express reports a malformed path parameter like this.
  if (error instanceof URIError) {
    return new HttpError(400, 'BAD_REQUEST', 'the path is not valid', { cause: error });
  }
  const message = 'internal error: the delivery was not accepted; send it again';
  return new HttpError(500, 'INTERNAL_ERROR', message, { cause: error });
}
