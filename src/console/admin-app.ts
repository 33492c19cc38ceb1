import express from 'express';
import type { Express, NextFunction, Request, Response } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { RefusedError } from '../errors.ts';
import { createAccess } from './access/access.ts';
import type { Access, Visitor } from './access/access.ts';
import { LOG_IN_STYLE_HASH } from './access/log-in-page.ts';
import { serveLogIn } from './access/log-in.ts';
import type { CountFailure } from './access/log-in.ts';
import { answerErrors, wantsPage } from './answer-errors.ts';
import { describeApi } from './api/openapi.ts';
import type { ApiRoute } from './api/route.ts';
import type { Area } from './area.ts';
import { IMPORT_MAP_HASH, serveAssets } from './assets.ts';
import { renderDocument } from './html/html.ts';
import { layOut } from './html/layout.ts';
import type { Db } from '../store/database.ts';

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
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
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
  if (console !== undefined) app.use(serveLogIn({ ...options, access, db: console.db }));
  app.use(requireVisitor(access, options));
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
    throw new RefusedError(404, 'NOT_FOUND', `nothing is at ${request.path}`);
  });
  app.use(answerErrors(access, navigation, logger));
  return app;
}

/** Lets in who may come in, and remembers who it is. People are sent to the log-in page, programs get 401. */
function requireVisitor(access: Access, { console, countFailure }: AdminOptions) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const visitor = access.visitorOf(request);
    if (visitor !== undefined) {
      visitors.set(request, visitor);
      next();
      return;
    }
    if (console !== undefined && request.method === 'GET' && wantsPage(request)) {
      response.redirect(303, `/login?next=${encodeURIComponent(request.originalUrl)}`);
      return;
    }
    const retryAfter =
      request.headers.authorization === undefined
        ? undefined
        : await countFailure(request.socket.remoteAddress ?? '');
    if (retryAfter !== undefined) {
      throw new RefusedError(429, 'TOO_MANY_WRONG_TOKENS', 'too many wrong tokens from this address', {
        retryAfter,
      });
    }
    response.set('WWW-Authenticate', 'Bearer');
    throw new RefusedError(401, 'UNAUTHORIZED', 'send the admin token: Authorization: Bearer ADMIN_TOKEN');
  };
}

const visitors = new WeakMap<Request, Visitor>();

function visitorOf(request: Request): Visitor {
  const visitor = visitors.get(request);
  if (visitor === undefined) throw new Error(`nobody was let in to ${request.path}`);
  return visitor;
}

function serveApi(app: Express, areas: readonly Area[], { version, stopping }: AdminOptions): void {
  const routes = areas.flatMap((area) => area.routes);
  const document = describeApi(routes, version);
  app.get('/api/openapi.json', (_request, response) => void response.json(document));
  const json = express.json({ limit: '1mb' });
  for (const { method, path, serve } of routes.toSorted(byParameters)) {
    const route = `/api/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
    app[method](route, json, (request: Request, response: Response) =>
      serve(request, response, {
        operator: visitorOf(request).operator,
        signal: AbortSignal.any([goneOf(response), stopping]),
      }),
    );
  }
}

/** A path without parameters first: `/events/stream` is no event's id, whichever area comes first. */
const byParameters = (a: ApiRoute, b: ApiRoute) =>
  Number(a.path.includes('{')) - Number(b.path.includes('{'));

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
