import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { describeError, OutageError, RefusedError } from '../errors.ts';
import type { Access } from './access/access.ts';
import { html, renderDocument } from './html/html.ts';
import type { Content } from './html/html.ts';
import { layOut } from './html/layout.ts';
import type { NavigationEntry } from './html/layout.ts';

/**
 * Answers every error: programs get the cloud's shape (specification, "Error body"), people a page that says what to do
 * next. What is a defect is in the log, under the number that the answer shows.
 */
export function answerErrors(
  access: Access,
  navigation: readonly NavigationEntry[],
  logger: Logger,
): ErrorRequestHandler {
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
    const visitor = status === 403 ? undefined : access.visitorOf(request);
    const page = {
      title: TITLES.get(status) ?? 'Something failed',
      content: explain(status, message, errorId),
    };
    if (visitor === undefined)
      response.send(
        renderDocument(
          html`<html lang="en">
            <body>
              ${page.content}
            </body>
          </html>`,
        ),
      );
    else response.send(renderDocument(layOut(page, navigation, request.path, visitor)));
  };
}

/** Whether a browser asks for a page, and not a program or a script of a page for data. */
export function wantsPage({
  path,
  headers,
}: {
  path: string;
  headers: { accept?: string | undefined };
}): boolean {
  return !path.startsWith('/api/') && (headers.accept ?? '').includes('text/html');
}

const TITLES = new Map([
  [400, 'This cannot be asked so'],
  [404, 'Nothing is here'],
]);

function explain(status: number, message: string, errorId: string): Content {
  return html`
    <p>${message}</p>
    ${status >= 500 && html`<p>The log has more under the number <code>${errorId}</code>.</p>`}
    <p><a href="/">Go to the overview</a></p>
  `;
}

function asRefused(error: unknown): RefusedError {
  if (error instanceof RefusedError) return error;
  if (error instanceof OutageError) {
    return new RefusedError(503, 'UNAVAILABLE', describeError(error), { cause: error });
  }
  if (error instanceof URIError)
    return new RefusedError(400, 'BAD_REQUEST', 'the path is not valid', { cause: error });
  const status = statusOf(error);
  if (status !== undefined && status < 500) {
    return new RefusedError(status, 'BAD_REQUEST', describeError(error), { cause: error });
  }
  return new RefusedError(500, 'INTERNAL_ERROR', 'this could not be answered', { cause: error });
}

/** Express' own errors about a body carry a status. */
function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined;
}
