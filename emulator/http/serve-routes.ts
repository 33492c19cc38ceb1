import { promisify } from 'node:util';
import express from 'express';
import type { Request, RequestHandler, Response, Router } from 'express';
import type { Clock } from '../../src/lib/clock.ts';
import { grants } from '../access/permissions.ts';
import type { Caller, Tokens } from '../access/tokens.ts';
import type { FaultSwitch } from '../sending/faults.ts';
import { ApiError, unauthenticated } from './errors.ts';
import { keepInt64 } from './int64.ts';
import type { Operations } from './operations.ts';
import { inMatchingOrder } from './route.ts';
import type { Reply, Route } from './route.ts';

interface Needs {
  tokens: Tokens;
  faults: FaultSwitch;
  operations: Operations;
  clock: Clock;
  /** API calls per hour. */
  quota: number;
}

const MAX_BODY = '1mb';
const FAULT_RETRY_AFTER_S = 1;
const VERBS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const;

const bodyReaders: Readonly<Record<NonNullable<Route['mediaType']>, RequestHandler>> = {
  'application/json': express.json({ strict: false, limit: MAX_BODY, reviver: keepInt64 }),
  'text/plain': express.text({ limit: MAX_BODY }),
};

/**
 * Serves the routes. Each request passes the simulated outage, authentication, the quota and authorization before its
 * body is read.
 */
export function serveRoutes(routes: readonly Route[], needs: Needs): Router {
  const { faults, operations, tokens } = needs;
  const quota = createQuota(needs.quota, needs.clock);
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const route of inMatchingOrder(routes)) {
    const pattern = route.path.replaceAll(':', String.raw`\:`).replaceAll(/\{(\w+)\}/g, ':$1');
    router[VERBS[route.method]](pattern, async (req, res) => {
      operations.settle();
      if (route.access !== 'control') refuseDuringOutage(faults);
      const admitted = admit(route, req, tokens, quota);
      const body = await readBody(route, req, res);
      const { params, query } = req;
      const reply = answer(route, faults, () =>
        route.answer({
          params,
          query,
          body,
          caller: admitted?.caller,
          operationUrl: (id) => `${req.protocol}://${req.host}${req.baseUrl}/operations/${id}`,
        }),
      );
      if (admitted !== undefined) res.set('RateLimit', `"default";r=${admitted.remaining}`);
      write(res, reply);
    });
  }
  return router;
}

/** Sets the hardening headers of every answer (specification, General conventions). */
export const hardenAnswers: RequestHandler = (_req, res, next) => {
  res.set({
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-cache, no-store, max-age=0, must-revalidate',
    Pragma: 'no-cache',
    Expires: '0',
    'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  });
  next();
};

const OUTAGE_CODES = { 429: 'RESOURCE_EXHAUSTED', 500: 'INTERNAL', 503: 'UNAVAILABLE' } as const;

function refuseDuringOutage(faults: FaultSwitch): void {
  const refusal = faults.current().refuse_calls;
  if (refusal === null) return;
  const { status, retry_after_seconds: retryAfter } = refusal;
  throw new ApiError(status, OUTAGE_CODES[status], 'Simulated by the fault refuse_calls', { retryAfter });
}

/**
 * The caller and the number of calls left. Throws 401 for an invalid token, 429 over the quota, 403 without the
 * permission. Undefined if the route needs no token.
 */
function admit({ access }: Route, req: Request, tokens: Tokens, quota: Quota) {
  if (typeof access === 'string') return undefined;
  const [, token] = /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '') ?? [];
  if (token === undefined) throw unauthenticated('This call needs the header Authorization: Bearer');
  const caller: Caller = tokens.read(token);
  const taken = quota.take();
  if ('retryAfter' in taken) {
    throw new ApiError(429, 'RESOURCE_EXHAUSTED', 'The account has used all calls of this hour', taken);
  }
  if (!grants(caller.permissions, access)) {
    const message = `This call needs one of the permissions ${access.join(', ')}`;
    throw new ApiError(403, 'PERMISSION_DENIED', message);
  }
  return { caller, remaining: taken.remaining };
}

/** The body, undefined if the request has none. Throws 415 for another media type. */
async function readBody({ mediaType = 'application/json', input }: Route, req: Request, res: Response) {
  const isEmpty = req.headers['content-length'] === '0';
  if (input.shape['body'] === undefined || isEmpty) return undefined;
  if (req.is(mediaType) === false) {
    throw new ApiError(415, 'UNSUPPORTED_MEDIA_TYPE', `The body of this call must be ${mediaType}`);
  }
  await promisify(bodyReaders[mediaType])(req, res);
  const body: unknown = req.body;
  return body;
}

/** The answer of the route, unless the fault `fail_creates` replaces it. */
function answer({ creates }: Route, faults: FaultSwitch, ask: () => Reply): Reply {
  const failure = creates === true ? faults.nextCreate() : null;
  if (failure === null) return ask();
  if (failure === 'stored') ask();
  throw new ApiError(503, 'UNAVAILABLE', 'Simulated by the fault fail_creates', {
    retryAfter: FAULT_RETRY_AFTER_S,
  });
}

function write(res: Response, { status, headers = {}, body }: Reply): void {
  res.status(status).set(headers);
  if (body === undefined) res.end();
  else res.json(body);
}

/** Counts the calls of the account in a sliding hour. */
interface Quota {
  /** Counts one call. Returns the calls left, or the seconds until the next call is possible. */
  take(): { remaining: number } | { retryAfter: number };
}

const WINDOW_MS = 60 * 60 * 1000;

function createQuota(limit: number, clock: Clock): Quota {
  const calls: number[] = [];
  return {
    take() {
      const now = clock.now();
      while (calls[0] !== undefined && calls[0] <= now - WINDOW_MS) calls.shift();
      if (calls.length >= limit) {
        return { retryAfter: Math.ceil(((calls[0] ?? now) + WINDOW_MS - now) / 1000) };
      }
      calls.push(now);
      return { remaining: limit - calls.length };
    },
  };
}
