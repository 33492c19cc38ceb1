import { randomUUID } from 'node:crypto';
import express from 'express';
import type { ErrorRequestHandler, Express, Request, Response } from 'express';
import type { Logger } from 'pino';
import { CLOUD_TYPES, readMessageType } from '../events/domain.ts';
import { HttpError } from '../lib/errors.ts';
import type { DeliveryObserver } from '../queue/delivery-observer.ts';
import { OVERLOADED, type Admission } from './admission.ts';
import { createHttpListener, type HttpListener, type TlsCertificate } from './http-listener.ts';
import { receiveDelivery, type Addressed, type ReceiveOptions } from './receive-delivery.ts';
import { createRefusalLog, type RefusalLog } from './refusal-log.ts';
import { remoteAddressOf } from './remote-address.ts';
import { RATE_LIMITED } from './source-rates.ts';
import { createWitnessAnswers, type Witness } from './witness-answers.ts';

export interface HealthOptions {
  readonly readiness: { ask(): Promise<{ readonly status: 'ok' | 'degraded' | 'unavailable' }> };
  readonly observer: DeliveryObserver;
  readonly tls: TlsCertificate | undefined;
  readonly logger: Logger;
  /** Undefined: this process is no witness. */
  readonly witness?: Witness | undefined;
}

export interface IngestServerOptions extends ReceiveOptions, HealthOptions {
  readonly admission: Admission;
  /** The proxies whose `X-Forwarded-For` is trusted: their number, or their addresses. Undefined: none. */
  readonly trustedProxies: number | readonly string[] | undefined;
  /** Whether deliveries of message types that this program does not know are accepted, too. */
  readonly storesOthers?: boolean;
}

/**
 * The headers of every answer, prepared for `writeHead`. No browser shows the answers: scripts and framing are forbidden,
 * and headers about pages are missing, which would take 700 bytes of each answer.
 */
const HEADERS = Object.entries({
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
}).flat();

/** The path of a delivery as senders write it. The router also accepts any other way to write it, but takes longer. */
const USUAL_PATH = /^\/ingest\/([\w.~-]+)\/([A-Z_]+)$/;

/** The id that finds the log lines of an answer: that of the delivery, or that of the error. */
const REQUEST_ID_HEADER = 'X-Request-Id';

/** Creates the server that receives deliveries and answers requests about its health. */
export function createIngestServer(options: IngestServerOptions): HttpListener {
  const { admission, trustedProxies, storesOthers = false, ...receiveOptions } = options;
  const app = createApp();
  if (trustedProxies !== undefined) app.set('trust proxy', trustedProxies);

  async function answerDelivery(request: Request, response: Response, source: string, name: string) {
    const sentType = readMessageType(name, storesOthers);
    if (sentType === undefined) {
      throw new HttpError(
        404,
        'NO_SUCH_MESSAGE_TYPE',
        `unknown message type: use one of ${CLOUD_TYPES.join(', ')}`,
      );
    }
    const remoteAddress = remoteAddressOf(request);
    const addressed: Addressed = { source, ...sentType, remoteAddress, isProven: false };
    const reservation = admission.begin(source);
    try {
      const receipt = await receiveDelivery(request, addressed, reservation, receiveOptions);
      answer(response, 200, receipt, REQUEST_ID_HEADER, receipt.delivery_id);
      const line = { requestId: receipt.delivery_id, source, messageType: name, remoteAddress, ...receipt };
      options.logger.debug(line, 'delivery answered');
    } catch (error) {
      response.locals['isProven'] = addressed.isProven;
      const { status } = asHttpError(error);
      if (addressed.isProven && (status === 429 || status >= 500)) {
        options.observer.deferred(source, addressed.messageType);
      }
      throw error;
    } finally {
      // Even if the connection broke long ago: a delivery stays in memory until the queue has accepted it.
      reservation.release();
    }
  }

  app.use((request, response, next) => {
    const [, source, messageType] = (request.method === 'POST' && USUAL_PATH.exec(request.url)) || [];
    if (source === undefined || messageType === undefined) return next();
    return answerDelivery(request, response, source, messageType);
  });
  app
    .route('/ingest/:source/:messageType')
    .post((request, response) => {
      const { source, messageType } = request.params;
      return answerDelivery(request, response, source, messageType);
    })
    .all((_request, response) => {
      response.setHeader('Allow', 'POST');
      throw new HttpError(405, 'METHOD_NOT_ALLOWED', 'send deliveries with POST');
    });
  return listenWith(app, options);
}

/** Creates the server of a process that receives no deliveries: it only answers requests about its health. */
export const createHealthServer = (options: HealthOptions): HttpListener => listenWith(createApp(), options);

function createApp(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('query parser', false);
  return app;
}

function listenWith(app: Express, options: HealthOptions): HttpListener {
  const { readiness, tls, logger, observer, witness } = options;
  app.get('/healthz', (_request, response) => answer(response, 200, { status: 'ok' }));
  app.get('/readyz', async (_request, response) => {
    const state = await readiness.ask();
    answer(response, state.status === 'unavailable' ? 503 : 200, state);
  });
  if (witness !== undefined) {
    const answerOf = createWitnessAnswers(witness);
    const handle = async (request: Request<{ originHash?: string }>, response: Response) => {
      const { status, type, text } = await answerOf(request, remoteAddressOf(request));
      send(response, status, type, text);
    };
    app.post('/add-checkpoint', handle).get('/:originHash/checkpoint', handle);
  }
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

/** Answers with a line of JSON. `headers` are further ones: names and values by turns. */
function answer(response: Response, status: number, body: object, ...headers: readonly string[]): void {
  send(response, status, 'application/json; charset=utf-8', `${JSON.stringify(body)}\n`, headers);
}

function send(response: Response, status: number, type: string, text: string, more: readonly string[] = []) {
  const headers = ['Content-Type', type, 'Content-Length', String(Buffer.byteLength(text)), ...more];
  response.writeHead(status, [...HEADERS, ...headers]).end(text);
}

/**
 * Answers every error in the shape of the cloud's own errors (specification, "Error body"), and logs it with its id. Repeated
 * refusals of senders without a proven secret are only counted.
 */
function answerErrors(logger: Logger, refusals: RefusalLog, observer: DeliveryObserver): ErrorRequestHandler {
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
    else if (response.locals['isProven'] === true) logger.warn(line, message);
    else refusals.add(line, message);
    if (response.headersSent) return;
    if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter);
    // Many senders send their password only when an answer requests it (RFC 9110, section 11.6.1).
    if (status === 401) response.setHeader('WWW-Authenticate', 'Basic realm="xiq-sink"');
    // Do not wait for the rest of a rejected body.
    if (!request.complete) response.setHeader('Connection', 'close');
    const body = { error_code: code, error_id: errorId, error_message: message };
    answer(response, status, body, REQUEST_ID_HEADER, errorId);
  };
}

function asHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  // Express reports a malformed path parameter like this.
  if (error instanceof URIError) {
    return new HttpError(400, 'BAD_REQUEST', 'the path is not valid', { cause: error });
  }
  const message = 'internal error: nothing was accepted; send it again';
  return new HttpError(500, 'INTERNAL_ERROR', message, { cause: error });
}
