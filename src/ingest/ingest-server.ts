import express from 'express';
import type { Express, Request, Response } from 'express';
import helmet from 'helmet';
import type { HelmetOptions } from 'helmet';
import type { Logger } from 'pino';
import { isMessageType, MESSAGE_TYPES } from '../domain.ts';
import { describeError, RefusedError } from '../errors.ts';
import { answerErrors } from './answer-errors.ts';
import { createHttpListener } from './http-listener.ts';
import type { HttpListener, TlsCertificate } from './http-listener.ts';
import { receiveDelivery } from './receive-delivery.ts';
import type { ReceiveOptions } from './receive-delivery.ts';

/** The parts that a process depends on: each resolves when it works and throws when it does not. */
type Checks = Readonly<Record<string, () => Promise<void>>>;

/** What answering about the process's own health needs. */
export interface HealthOptions {
  readonly checks: Checks;
  readonly tls: TlsCertificate | undefined;
  readonly logger: Logger;
}

/** What receiving deliveries needs. */
export type IngestServerOptions = ReceiveOptions & HealthOptions;

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
  const app = createApp(options.checks);
  app
    .route('/ingest/:source/:messageType')
    .post((request, response) => answerDelivery(request, response, options))
    .all((_request, response) => {
      response.set('Allow', 'POST');
      throw new RefusedError(405, 'METHOD_NOT_ALLOWED', 'deliveries come by POST');
    });
  return listenWith(app, options);
}

/** The server of a process that takes no deliveries: it only tells how it is. */
export function createHealthServer(options: HealthOptions): HttpListener {
  return listenWith(createApp(options.checks), options);
}

function createApp(checks: Checks): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(helmet(HEADERS));
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.get('/readyz', (_request, response) => answerReadiness(checks, response));
  return app;
}

function listenWith(app: Express, { tls, logger }: HealthOptions): HttpListener {
  app.use((request) => {
    throw new RefusedError(404, 'NOT_FOUND', `nothing is at ${request.path}`);
  });
  app.use(answerErrors(logger));
  return createHttpListener(app, tls);
}

async function answerDelivery(
  request: Request<{ source: string; messageType: string }>,
  response: Response,
  options: ReceiveOptions,
): Promise<void> {
  const { source, messageType } = request.params;
  if (!isMessageType(messageType)) {
    throw new RefusedError(404, 'NO_SUCH_MESSAGE_TYPE', `message types are ${MESSAGE_TYPES.join(', ')}`);
  }
  const remoteAddress = request.socket.remoteAddress ?? '';
  response.json(await receiveDelivery(request, { source, messageType, remoteAddress }, options));
}

async function answerReadiness(checks: Checks, response: Response): Promise<void> {
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
