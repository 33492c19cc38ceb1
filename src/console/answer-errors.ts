import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import type { VNode } from 'preact';
import { ConflictError, describeError, HttpError, NotFoundError, OutageError } from '../errors.ts';
import { letInWith } from './access/require-visitor.ts';
import { headOf } from './html/head.ts';
import { html, renderDocument } from './html/html.ts';
import type { Content } from './html/html.ts';
import { layOut } from './html/layout.ts';
import type { NavigationEntry } from './html/layout.ts';
import { wantsPage } from './wants-page.ts';

/**
 * Answers every error: programs get the cloud's shape (specification, "Error body"), people a page that says what to do
 * next. What is a defect is in the log, under the number that the answer shows.
 */
export function answerErrors(navigation: readonly NavigationEntry[], logger: Logger): ErrorRequestHandler {
  // Express tells an error handler by its four parameters.
  return (error: unknown, request, response, _next) => {
    const errorId = randomUUID();
    const { status, code, message, retryAfter } = asRefused(error);
    const line = { errorId, status, method: request.method, path: request.path };
    if (status >= 500) logger.error({ ...line, err: error }, `console: ${message}`);
    else logger.info(line, `console: ${message}`);
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
    const title = TITLES.get(status) ?? 'Something failed';
    const content = explain(status, message, errorId);
    const visitor = letInWith(request);
    const document =
      visitor === undefined
        ? bare(title, content)
        : layOut({ title, content }, navigation, request.path, visitor);
    response.send(renderDocument(document));
  };
}

/** For who was not let in: nothing of the console, not even its style. */
function bare(title: string, content: Content): VNode {
  return html`
    <html lang="en">
      ${headOf(title, html` <link rel="icon" href="data:," /> `)}
      <body>
        <main>
          <h1>${title}</h1>
          ${content}
        </main>
      </body>
    </html>
  `;
}

const TITLES = new Map([
  [400, 'This cannot be asked so'],
  [401, 'Log in first'],
  [403, 'This is not allowed'],
  [404, 'Nothing is here'],
  [429, 'Too many tries'],
]);

function explain(status: number, message: string, errorId: string): Content {
  return html`
    <p>${message}</p>
    ${status >= 500 && html`<p>The log has more under the number <code>${errorId}</code>.</p>`}
    <p><a href="/">Go to the overview</a></p>
  `;
}

function asRefused(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof NotFoundError || error instanceof ConflictError) {
    const status = error instanceof NotFoundError ? 404 : 409;
    return new HttpError(status, error.code, error.message, { cause: error });
  }
  if (error instanceof OutageError) {
    return new HttpError(503, 'UNAVAILABLE', describeError(error), { cause: error });
  }
  if (error instanceof URIError)
    return new HttpError(400, 'BAD_REQUEST', 'the path is not valid', { cause: error });
  const status = statusOf(error);
  if (status !== undefined && status < 500) {
    // The parser's own message quotes the body.
    const message = error instanceof SyntaxError ? 'the body is not valid JSON' : describeError(error);
    return new HttpError(status, 'BAD_REQUEST', message, { cause: error });
  }
  return new HttpError(500, 'INTERNAL_ERROR', 'this could not be answered', { cause: error });
}

/** Express' own errors about a body carry a status. */
function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined;
}
