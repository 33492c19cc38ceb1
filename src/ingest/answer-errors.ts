import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { HttpError } from '../errors.ts';
import { OVERLOADED } from './admission.ts';
import type { IngestObserver } from './ingest-observer.ts';
import { remoteAddressOf } from './remote-address.ts';

/** Carries the id by which an answer is found in the log: the delivery's own, or that of the error. */
export const REQUEST_ID_HEADER = 'X-Request-Id';

/** Answers every error in the shape of the cloud's own (specification, "Error body"), and logs it under its id. */
export function answerErrors(logger: Logger, observer: IngestObserver): ErrorRequestHandler {
  // Express tells an error handler by its four parameters.
  return (error: unknown, request, response, _next) => {
    const errorId = randomUUID();
    const { status, code, message, retryAfter } = asRefused(error);
    const remote = remoteAddressOf(request);
    observer.refused(status);
    const line = { errorId, status, method: request.method, path: request.path, remote };
    // An overload is in the log already, once; a line for each refused delivery would be a load of its own.
    if (code === OVERLOADED) logger.debug(line, message);
    else if (status >= 500) logger.error({ ...line, err: error }, message);
    else logger.warn(line, message);
    if (response.headersSent) return;
    response.set(REQUEST_ID_HEADER, errorId);
    if (retryAfter !== undefined) response.set('Retry-After', String(retryAfter));
    // Many senders hold their password back until they are asked for it (RFC 9110, section 11.6.1).
    if (status === 401) response.set('WWW-Authenticate', 'Basic realm="xiq-sink"');
    // The rest of a body that was refused is not worth waiting for.
    if (!request.complete) response.set('Connection', 'close');
    response.status(status).json({ error_code: code, error_id: errorId, error_message: message });
  };
}

function asRefused(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  // Express reports a malformed path parameter so.
  if (error instanceof URIError) {
    return new HttpError(400, 'BAD_REQUEST', 'the path is not valid', { cause: error });
  }
  const message = 'the delivery was not taken; send it again';
  return new HttpError(500, 'INTERNAL_ERROR', message, { cause: error });
}
