import express from 'express';
import type { Express, Request, Response } from 'express';
import helmet from 'helmet';
import type { HelmetOptions } from 'helmet';
import type { Logger } from 'pino';
import { isMessageType, MESSAGE_TYPES } from '../domain.ts';
import { HttpError } from '../errors.ts';
import type { Admission } from './admission.ts';
import { answerErrors, REQUEST_ID_HEADER } from './answer-errors.ts';
import { createHttpListener } from './http-listener.ts';
import type { HttpListener, TlsCertificate } from './http-listener.ts';
import type { IngestObserver } from './ingest-observer.ts';
import type { Readiness } from './readiness.ts';
import { receiveDelivery } from './receive-delivery.ts';
import type { ReceiveOptions } from './receive-delivery.ts';
import { remoteAddressOf } from './remote-address.ts';

/** What answering about the process's own health needs. */
export interface HealthOptions {
  readonly readiness: Readiness;
  readonly observer: IngestObserver;
  readonly tls: TlsCertificate | undefined;
  readonly logger: Logger;
}

/** What receiving deliveries needs. */
export interface IngestServerOptions extends ReceiveOptions, HealthOptions {
  readonly admission: Admission;
  /** The proxies whose word about a sender's address is taken: how many there are, or which. Undefined: none. */
  readonly trustedProxies: number | readonly string[] | undefined;
}

/**
 * No browser shows these answers: what tells one to run and frame nothing stays, the headers about pages go. They
 * were 700 bytes an answer, and a fifth of what an answer cost sender and receiver.
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

/** The server that receives deliveries and tells how it is. */
export function createIngestServer(options: IngestServerOptions): HttpListener {
  const app = createApp(options);
  if (options.trustedProxies !== undefined) app.set('trust proxy', options.trustedProxies);
  app
    .route('/ingest/:source/:messageType')
    .post((request, response) => answerDelivery(request, response, options))
    .all((_request, response) => {
      response.set('Allow', 'POST');
      throw new HttpError(405, 'METHOD_NOT_ALLOWED', 'deliveries come by POST');
    });
  return listenWith(app, options);
}

/** The server of a process that takes no deliveries: it only tells how it is. */
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
    throw new HttpError(404, 'NOT_FOUND', `nothing is at ${request.path}`);
  });
  app.use(answerErrors(logger, observer));
  return createHttpListener(app, tls);
}

async function answerDelivery(
  request: Request<{ source: string; messageType: string }>,
  response: Response,
  { admission, ...options }: IngestServerOptions,
): Promise<void> {
  const { source, messageType } = request.params;
  if (!isMessageType(messageType)) {
    throw new HttpError(404, 'NO_SUCH_MESSAGE_TYPE', `message types are ${MESSAGE_TYPES.join(', ')}`);
  }
  const addressed = { source, messageType, remoteAddress: remoteAddressOf(request) };
  const inFlight = admission.begin();
  try {
    const receipt = await receiveDelivery(request, addressed, inFlight, options);
    response.setHeader(REQUEST_ID_HEADER, receipt.delivery_id);
    response.json(receipt);
    options.logger.debug({ requestId: receipt.delivery_id, ...addressed, ...receipt }, 'delivery answered');
  } finally {
    // Also when the connection broke long ago: what the queue has been given stays in memory until it has taken it.
    inFlight.release();
  }
}
