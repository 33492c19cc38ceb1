import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import pTimeout from 'p-timeout';
import {
  ConflictError,
  describeError,
  HttpError,
  NotFoundError,
  OutageError,
  SettingsError,
  UsageError,
} from '../lib/errors.ts';
import { isLockTimeout } from '../store/server/postgres.ts';
import type { Db } from '../store/server/database.ts';
import { ALL_SOURCES } from '../store/server/scope.ts';
import { describeTableLock } from '../store/server/waits.ts';
import type { Visitor } from './access/access.ts';
import { refusalOf, visitorIfAny, wantsPage, type Refusals } from './access/gate.ts';
import { queryOf, textOf } from './api/parameters.ts';
import { navigationOf, type Area } from './area.ts';
import { html, renderDocument } from './html/html.ts';
import { bareDocument, layOut } from './html/layout.ts';
import { zoneOf } from './html/time-zone.ts';

/**
 * Answers every error: programs get the cloud's error body (specification, "Error body"), browsers a page. Details are
 * in the log, under the error id of the answer.
 */
export function answerErrors(
  areas: readonly Area[],
  logRefusal: Refusals['logRefusal'],
  logger: Logger,
  db: Db | undefined,
): ErrorRequestHandler {
  // Express recognizes an error handler by its four parameters.
  return async (error: unknown, request, response, _next) => {
    const errorId = randomUUID();
    const visitor = visitorIfAny(request);
    const isLocked = db !== undefined && isLockTimeout(error);
    const shown = isLocked ? await lockedError(error, db, visitor) : error;
    const { status, code, message, retryAfter } = asHttpError(shown);
    // The gate has logged it already.
    const isWrongToken = status === 401 && request.headers.authorization !== undefined;
    const { remote, ...refusal } = refusalOf(request, status);
    const line = { errorId, ...refusal };
    if (status >= 500) logger.error({ ...line, err: error }, `console: ${message}`);
    else if (visitor !== undefined) logger.info(line, `console: ${message}`);
    else if (!isWrongToken) logRefusal({ ...line, remote }, `console: ${message}`);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (retryAfter !== undefined) response.set('Retry-After', String(retryAfter));
    response.status(status);
    if (!wantsPage(request)) {
      response.json({ error_code: code, error_id: errorId, error_message: message });
      return;
    }
    const title = TITLES.get(status) ?? 'Internal error';
    const content = html`
      <p>${message}</p>
      ${status >= 500 && html`<p>Details are in the log under error ID <code>${errorId}</code>.</p>`}
      <p><a href="/">Go to the overview</a></p>
    `;
    const document =
      visitor === undefined
        ? bareDocument(title, title, content)
        : layOut(
            { title, content },
            await navigationOf(areas, visitor),
            request.path,
            visitor,
            zoneOf(request),
          );
    response.send(renderDocument(document, textOf(queryOf(request), 'source')));
  };
}

const FIND_LOCK_MS = 1_000;

/** A table was locked for longer than a page waits. Sessions of the database are named to those who may see all of it. */
async function lockedError(cause: unknown, db: Db, visitor: Visitor | undefined): Promise<HttpError> {
  const isNamed = visitor?.scope === ALL_SOURCES;
  const found =
    isNamed && pTimeout(describeTableLock(db), { milliseconds: FIND_LOCK_MS }).catch(() => undefined);
  const message = `${(await found) || 'a table of the database is locked'}; try again later`;
  return new HttpError(503, 'TABLE_LOCKED', message, { cause, retryAfter: 5 });
}

const TITLES = new Map([
  [400, 'Invalid query'],
  [401, 'Log in required'],
  [403, 'Access denied'],
  [404, 'Not found'],
  [429, 'Too many attempts'],
  [502, 'No answer from another system'],
  [503, 'Service unavailable'],
]);

/** An error as it is answered: details of unexpected ones stay in the log. */
export function asHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof NotFoundError) return new HttpError(404, error.code, error.message, { cause: error });
  if (error instanceof ConflictError) return new HttpError(409, error.code, error.message, { cause: error });
  if (error instanceof UsageError) {
    const code = error instanceof SettingsError ? 'WRONG_SETTINGS' : 'BAD_REQUEST';
    return new HttpError(400, code, error.message, { cause: error });
  }
  if (error instanceof OutageError) {
    return new HttpError(503, 'UNAVAILABLE', describeError(error), { cause: error });
  }
  if (error instanceof URIError)
    return new HttpError(400, 'BAD_REQUEST', 'the path is invalid', { cause: error });
  const status = statusOf(error);
  if (status !== undefined && status < 500) {
    // The parser's own message quotes the body.
    const message = error instanceof SyntaxError ? 'the body is not valid JSON' : describeError(error);
    return new HttpError(status, 'BAD_REQUEST', message, { cause: error });
  }
  return new HttpError(500, 'INTERNAL_ERROR', 'unexpected error', { cause: error });
}

/** Express sets a status on its own errors about a body. */
function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined;
}
