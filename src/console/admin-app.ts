import express from 'express';
import type { Express, Request, Response } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { HttpError } from '../errors.ts';
import type { Db } from '../store/database.ts';
import { createAccess } from './access/access.ts';
import { createWrongTokens, requireVisitor, visitorOf } from './access/gate.ts';
import type { CountFailure } from './access/gate.ts';
import { LOG_IN_STYLE_HASH, serveLogIn } from './access/log-in.ts';
import { answerErrors } from './answer-errors.ts';
import { describeApi } from './api/openapi.ts';
import type { ApiRoute } from './api/route.ts';
import type { Area } from './area.ts';
import { IMPORT_MAP_HASH, serveAssets } from './assets.ts';
import { renderDocument } from './html/html.ts';
import { layOut } from './html/layout.ts';

/** What the admin listener serves. */
export interface AdminOptions {
  /** Undefined: everybody on this machine may. */
  readonly token: string | undefined;
  readonly countFailure: CountFailure;
  /** The figures of this process, as Prometheus reads them. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  /** The console, in the roles that have it. */
  readonly console: ConsoleOptions | undefined;
  readonly version: string;
  /** Fires when the program is to end: answers that would go on and on are ended. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}

export interface ConsoleOptions {
  readonly db: Db;
  readonly areas: readonly Area[];
}

/** Everything comes from here, and nothing is sent elsewhere, framed, or run that is not a file of ours. */
const CONTENT_SECURITY_POLICY = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'", IMPORT_MAP_HASH],
    styleSrc: ["'self'", LOG_IN_STYLE_HASH],
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
  },
};

/**
 * The admin listener: metrics in every role, console and API in those that have them. Without the right to it nothing
 * answers but `/healthz` and the log-in page.
 */
export function createAdminApp(options: AdminOptions): Express {
  const { token, console, logger } = options;
  const access = createAccess(token);
  const noteWrongToken = createWrongTokens(options.countFailure, logger);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // Else what fails before our own answer to errors does shows where in the code.
  app.set('env', 'production');
  // What may be asked is decided by paths as they are written.
  app.enable('case sensitive routing');
  app.set('query parser', false);
  app.use(
    helmet({
      contentSecurityPolicy: CONTENT_SECURITY_POLICY,
      xFrameOptions: { action: 'deny' },
      strictTransportSecurity: { includeSubDomains: false },
      referrerPolicy: { policy: 'same-origin' },
    }),
  );
  app.use((_request, response, next) => {
    response.set('Cache-Control', 'no-store');
    next();
  });
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  if (console !== undefined) app.use(serveLogIn({ access, noteWrongToken, db: console.db }));
  app.use(requireVisitor({ access, noteWrongToken, hasLogIn: console !== undefined }));
  app.get('/metrics', async (_request, response) => {
    const { contentType, text } = await options.metrics();
    response.type(contentType).send(text);
  });
  const areas = console?.areas ?? [];
  const navigation = areas.flatMap((area) => area.navigation);
  app.use(serveAssets());
  serveApi(app, areas, options);
  servePages(app, areas);
  app.use((request: Request) => {
    throw new HttpError(404, 'NOT_FOUND', `nothing is at ${request.path}`);
  });
  app.use(answerErrors(navigation, logger));
  return app;
}

function serveApi(app: Express, areas: readonly Area[], { version, stopping }: AdminOptions): void {
  const routes = areas.flatMap((area) => area.routes);
  const document = describeApi(routes, version);
  app.get('/api/openapi.json', (_request, response) => void response.json(document));
  const json = express.json({ limit: '1mb' });
  // `/events/stream` is no id of an event, whichever area comes first.
  const parameters = ({ path }: ApiRoute) => path.split('{').length;
  for (const { method, path, serve } of routes.toSorted((a, b) => parameters(a) - parameters(b))) {
    const route = `/api/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
    app[method](route, json, (request: Request, response: Response) =>
      serve(request, response, {
        operator: visitorOf(request).operator,
        signal: AbortSignal.any([goneOf(response), stopping]),
      }),
    );
  }
}

/** Fires when nobody waits for the answer any more. */
function goneOf(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return gone.signal;
}

function servePages(app: Express, areas: readonly Area[]): void {
  const navigation = areas.flatMap((area) => area.navigation);
  for (const { path, render } of areas.flatMap((area) => area.pages)) {
    app.get(path, async (request, response) => {
      const visitor = visitorOf(request);
      const page = await render(request, visitor);
      response.send(renderDocument(layOut(page, navigation, request.path, visitor)));
    });
  }
}
