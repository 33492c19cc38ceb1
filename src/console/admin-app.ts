import compression from 'compression';
import express, { type Express, type Request, type Response } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import type { OpenIdConfig } from '../config/config.ts';
import { scanBody } from '../ingest/scan/scan-body.ts';
import { HttpError } from '../lib/errors.ts';
import type { Db } from '../store/server/database.ts';
import { askingAbout, createAccess, METRICS_PATH, type Access } from './access/access.ts';
import { requireAccess, requireVisitor, visitorOf, watchAccess, type Refusals } from './access/gate.ts';
import { serveLogIn } from './access/log-in.ts';
import { answerErrors } from './answer-errors.ts';
import { describeApi } from './api/openapi.ts';
import { recordQuestion } from './api/record-question.ts';
import { queryOf } from './api/parameters.ts';
import { placeOf, sourceIn, type ApiRoute } from './api/route.ts';
import { navigationOf, type Area } from './area.ts';
import { IMPORT_MAP_HASH, serveAssets } from './assets.ts';
import { renderDocument } from './html/html.ts';
import { layOut } from './html/layout.ts';
import { sourceSwitch } from './html/source-switch.ts';
import { absoluteAddress, zoneOf } from './html/time-zone.ts';
import { createSchemaGate } from './schema-gate.ts';

export interface AdminOptions extends Refusals {
  /** Undefined: everyone on this machine has access, as long as there are no accounts. */
  readonly token: string | undefined;
  /** The proxies whose `X-Forwarded-For` is trusted: their number, or their addresses. Undefined: none. */
  readonly trustedProxies?: number | readonly string[] | undefined;
  /** The metrics of this process in Prometheus format. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  /** Undefined in roles without the console. */
  readonly console: ConsoleOptions | undefined;
  readonly version: string;
  /** Fires when the program stops: streams are ended. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}

export interface ConsoleOptions {
  readonly openId: OpenIdConfig | undefined;
  readonly db: Db;
  readonly areas: readonly Area[];
}

/** Allows only files of this listener: no other origins, no frames, no inline scripts or styles. */
const CONTENT_SECURITY_POLICY = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'", IMPORT_MAP_HASH],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
  },
};

/**
 * The admin listener: metrics in every role, console and API in the roles that have them. Without access only
 * `/healthz`, the login page, and the scripts and styles of the console answer.
 */
export function createAdminApp(options: AdminOptions): Express {
  const { token, console, logger, logRefusal } = options;
  const checkSchema = console === undefined ? async () => undefined : createSchemaGate(console.db);
  const access = createAccess(
    token,
    console && { db: console.db, checkSchema, hasOpenId: console.openId !== undefined },
  );
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  if (options.trustedProxies !== undefined) app.set('trust proxy', options.trustedProxies);
  // Otherwise errors before our own error handler show a stack trace.
  app.set('env', 'production');
  // Access is decided by the exact path.
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
  app.use(compression({ filter: isCompressed }));
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  if (console !== undefined) {
    app.use(serveAssets(), serveLogIn({ ...options, ...console, access, checkSchema }));
  }
  app.use(requireVisitor(access, options, console !== undefined));
  app.get(
    METRICS_PATH,
    requireAccess({ needs: 'metrics.read', data: 'whole' }),
    async (_request, response) => {
      const { contentType, text } = await options.metrics();
      response.type(contentType).send(text);
    },
  );
  // In front of everything that reads the database.
  app.use(async (_request, _response, next) => {
    await checkSchema();
    next();
  });
  if (console !== undefined) {
    serveApi(app, console, access, options);
    servePages(app, console);
  }
  app.use((request: Request) => {
    throw new HttpError(404, 'NOT_FOUND', `${request.path} does not exist`);
  });
  app.use(answerErrors(console?.areas ?? [], logRefusal, logger, console?.db));
  return app;
}

/**
 * Pages and JSON. Streams and files stay as they are, to be sent as they come. The length of a compressed answer can tell
 * a secret in it only to those who make a browser ask for it with texts of their choice (BREACH): other sites cannot,
 * because no request from them has the session (SameSite=Strict), and no page has a secret that it did not just make.
 */
const isCompressed = (_request: Request, response: Response) =>
  /^(?:text\/html|application\/json)\b/.test(String(response.get('Content-Type')));

function serveApi(
  app: Express,
  { areas, db }: ConsoleOptions,
  access: Access,
  { version, stopping }: AdminOptions,
): void {
  const routes = areas.flatMap((area) => area.routes);
  const document = describeApi(areas, version);
  app.get('/api/openapi.json', (_request, response) => void response.json(document));
  const json = express.json({ limit: '1mb', verify: (_request, _response, body) => checkBody(body) });
  // `/events/stream` must match before `/events/{event_id}`, in whichever order the areas are.
  const parameters = ({ route }: ApiRoute) => route.split('{').length;
  const sorted = routes.toSorted((a, b) => parameters(a) - parameters(b));
  const addressed = (one: ApiRoute) => `/api/v1${placeOf(one).path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
  for (const one of sorted) {
    app[placeOf(one).method](
      addressed(one),
      requireAccess(one),
      recordQuestion(db, one),
      json,
      (request: Request, response: Response) => {
        const ends = [goneOf(response), stopping];
        if (one.answers.kind === 'stream') ends.push(watchAccess(access, request, one));
        return one.serve(request, response, { ...visitorOf(request), signal: AbortSignal.any(ends) });
      },
    );
  }
  for (const [address, known] of Map.groupBy(sorted, addressed)) {
    const methods = known.map(({ route }) => route.split(' ', 1)[0]).join(', ');
    app.all(address, ({ path }, response) => {
      response.set('Allow', methods);
      throw new HttpError(405, 'METHOD_NOT_ALLOWED', `${path} accepts ${methods} only`);
    });
  }
}

function goneOf(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return gone.signal;
}

function servePages(app: Express, { areas, db }: ConsoleOptions): void {
  for (const page of areas.flatMap((area) => area.pages)) {
    app.get(page.path, requireAccess(page), async (request, response) => {
      const source = sourceIn(request);
      const whole = visitorOf(request);
      const visitor = page.data === 'whole' ? whole : askingAbout(whole, source);
      const zone = zoneOf(request);
      const absolute = absoluteAddress(request.originalUrl, zone);
      if (absolute !== undefined) {
        response.redirect(absolute);
        return;
      }
      const [rendered, navigation, choice] = await Promise.all([
        page.render(request, visitor),
        navigationOf(areas, visitor),
        sourceSwitch(db, visitor, page, queryOf(request)),
      ]);
      if (typeof rendered === 'string') {
        response.redirect(rendered);
        return;
      }
      const document = layOut(rendered, navigation, request.path, visitor, zone, choice);
      response.send(renderDocument(document, source));
    });
  }
}

/** Throws HttpError 400 for a body beyond the limits of a record: what reads it later would fail on its depth. */
function checkBody(body: Buffer): void {
  const { problem, setAside } = scanBody(body);
  const reason = problem ?? setAside[0]?.reason;
  if (body.length > 0 && reason !== undefined) throw new HttpError(400, 'BAD_REQUEST', reason);
}
