import express from 'express';
import type { Request, RequestHandler, Response, Router } from 'express';
import { ApiError, unauthenticated } from './api-error.ts';
import { keepDigits } from './exact-json.ts';
import type { FaultSwitch } from './faults.ts';
import { grants } from './grants.ts';
import type { Operations } from './operations.ts';
import type { Quota } from './quota.ts';
import { inOrder } from './route-match.ts';
import type { Reply, Route } from './route.ts';
import type { Caller, Tokens } from './tokens.ts';

interface Needs {
  tokens: Tokens;
  quota: Quota;
  faults: FaultSwitch;
  operations: Operations;
}

const MAX_BODY = '1mb';
const FAULT_RETRY_AFTER_S = 1;

const bodyReaders: Readonly<Record<NonNullable<Route['mediaType']>, RequestHandler>> = {
  'application/json': express.json({ strict: false, limit: MAX_BODY, reviver: keepDigits }),
  'text/plain': express.text({ limit: MAX_BODY }),
};

/**
 * Serves the routes: each request is refused where a fault says so, then authenticated and authorized, and only then is
 * its body read.
 */
export function serveRoutes(routes: readonly Route[], needs: Needs): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const route of inOrder(routes)) {
    add(router, route, async (req, res) => {
      needs.operations.settle();
      if (route.access !== 'control') refuseAsTold(needs.faults);
      const admitted = admit(route, req, needs);
      const body = await readBody(route, req, res);
      const { params, query } = req;
      const reply = answer(route, needs.faults, () =>
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

function add(router: Router, { method, path }: Route, handler: RequestHandler): void {
  const pattern = path.replaceAll(':', String.raw`\:`).replaceAll(/\{(\w+)\}/g, ':$1');
  switch (method) {
    case 'GET':
      router.get(pattern, handler);
      return;
    case 'POST':
      router.post(pattern, handler);
      return;
    case 'PUT':
      router.put(pattern, handler);
      return;
    case 'PATCH':
      router.patch(pattern, handler);
      return;
    case 'DELETE':
      router.delete(pattern, handler);
  }
}

function refuseAsTold(faults: FaultSwitch): void {
  const refusal = faults.current().refuse_calls;
  if (refusal === null) return;
  const { status, retry_after_seconds: retryAfter } = refusal;
  const code = ({ 429: 'RESOURCE_EXHAUSTED', 500: 'INTERNAL', 503: 'UNAVAILABLE' } as const)[status];
  throw new ApiError(status, code, 'Refused by a fault that was asked for', { retryAfter });
}

/** Who calls and how many calls remain; throws 401 for a bad token, 429 over the quota, 403 without the permission. */
function admit(
  { access }: Route,
  req: Request,
  { tokens, quota }: Needs,
): { caller: Caller; remaining: number } | undefined {
  if (typeof access === 'string') return undefined;
  const [, token] = /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '') ?? [];
  if (token === undefined) throw unauthenticated('This call needs the header Authorization: Bearer');
  const caller = tokens.read(token);
  const taken = quota.take();
  if ('retryAfter' in taken) {
    throw new ApiError(429, 'RESOURCE_EXHAUSTED', 'The account has no calls left in this hour', taken);
  }
  if (!grants(caller.permissions, access)) {
    throw new ApiError(
      403,
      'PERMISSION_DENIED',
      `This call needs one of the permissions ${access.join(', ')}`,
    );
  }
  return { caller, remaining: taken.remaining };
}

/** The body, undefined where the request has none; throws 415 for one of another media type. */
async function readBody({ mediaType = 'application/json', input }: Route, req: Request, res: Response) {
  const isEmpty = req.headers['content-length'] === '0';
  if (input.shape['body'] === undefined || isEmpty) return undefined;
  if (req.is(mediaType) === false) {
    throw new ApiError(415, 'UNSUPPORTED_MEDIA_TYPE', `The body of this call is ${mediaType}`);
  }
  await new Promise<void>((resolve, reject) => {
    bodyReaders[mediaType](req, res, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('The body could not be read', { cause: error }));
    });
  });
  const body: unknown = req.body;
  return body;
}

/** What the route answers, unless the fault that fails every second create says otherwise. */
function answer({ creates }: Route, faults: FaultSwitch, ask: () => Reply): Reply {
  const failure = creates === true ? faults.nextCreate() : null;
  if (failure === null) return ask();
  if (failure === 'stored') ask();
  throw new ApiError(503, 'UNAVAILABLE', 'Failed by a fault that was asked for', {
    retryAfter: FAULT_RETRY_AFTER_S,
  });
}

function write(res: Response, { status, headers = {}, body }: Reply): void {
  res.status(status).set(headers);
  if (body === undefined) res.end();
  else res.json(body);
}
