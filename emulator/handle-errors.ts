import type { ErrorRequestHandler, RequestHandler } from 'express';
import { z } from 'zod';
import { ApiError, badRequest, errorBody } from './api-error.ts';

/** What the emulator reports of itself. */
export interface EmulatorLogger {
  error(fields: object, message: string): void;
}

/** 404 for every address that no route serves. */
export const unknownAddress: RequestHandler = (req) => {
  throw new ApiError(404, 'NOT_FOUND', `There is no operation ${req.method} ${req.path}`);
};

/** Answers every error with an error body; one that is none of the API's is a defect, answered 500 and logged. */
export function handleErrors(logger: EmulatorLogger | undefined): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    const known = error instanceof ApiError ? error : readingError(error);
    if (known === undefined)
      logger?.error({ err: error, method: req.method, path: req.path }, 'request failed');
    const answered =
      known ?? new ApiError(500, 'INTERNAL', 'The emulator could not do this', { cause: error });
    if (answered.retryAfter !== undefined) res.set('Retry-After', String(answered.retryAfter));
    res.status(answered.status).json(errorBody(answered));
  };
}

const httpErrorSchema = z.object({ status: z.int().min(400).max(499) });

/** An error of reading the request: the body is too large, in an unknown encoding, or no JSON. */
function readingError(error: unknown): ApiError | undefined {
  const parsed = httpErrorSchema.safeParse(error);
  if (!parsed.success) return undefined;
  switch (parsed.data.status) {
    case 413:
      return new ApiError(413, 'PAYLOAD_TOO_LARGE', 'The body is larger than 1 MB');
    case 415:
      return new ApiError(415, 'UNSUPPORTED_MEDIA_TYPE', 'The encoding of the body is not supported');
    default:
      return badRequest('The request cannot be read: is the body JSON?');
  }
}
