import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { z } from 'zod';
import { AUTH_TOKEN_REVOKED } from '../../src/cloud/contract/shared.ts';

/**
 * The values of `error_code`. The specification names four (BAD_REQUEST, AUTH_TOKEN_REVOKED, UNIMPLEMENTED,
 * FAILED_PRECONDITION); the others follow their naming.
 */
export type ErrorCode =
  | 'BAD_REQUEST'
  | typeof AUTH_TOKEN_REVOKED
  | 'UNIMPLEMENTED'
  | 'FAILED_PRECONDITION'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RESOURCE_EXHAUSTED'
  | 'CANCELED'
  | 'INTERNAL'
  | 'UNAVAILABLE';

/** A call, or a long-running operation, that ends with an error body. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: ErrorCode;
  /** Seconds, for the Retry-After header. */
  readonly retryAfter: number | undefined;

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    options?: ErrorOptions & { retryAfter?: number },
  ) {
    super(message, options);
    this.status = status;
    this.code = code;
    this.retryAfter = options?.retryAfter;
  }
}

/** The query of a request is invalid. The specification has 400 for it, the published interface 422. */
export class InvalidQueryError extends ApiError {
  constructor(message: string) {
    super(400, 'BAD_REQUEST', message);
  }

  /** The same error as the published interface answers it. */
  unprocessable(): ApiError {
    return new ApiError(422, 'INVALID_ARGUMENT', this.message);
  }
}

/** The request is invalid, and stays so when repeated. */
export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BAD_REQUEST', message);
}

/** The token is missing, malformed or expired, or its user is gone. */
export function unauthenticated(message: string): ApiError {
  return new ApiError(401, 'UNAUTHENTICATED', message);
}

/** A defect of the emulator. */
export function internal(cause: unknown): ApiError {
  return new ApiError(500, 'INTERNAL', 'Internal error of the emulator', { cause });
}

/** An error that names each invalid member, never its value. */
export function invalidRequest({ issues }: z.ZodError): ApiError {
  const message = issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  const isQuery = issues.every(({ path: [part] }) => part === 'query');
  return isQuery ? new InvalidQueryError(message) : badRequest(message);
}

/** The value. Throws a 404 that names the missing object if the value is undefined. */
export function found<T>(value: T | undefined, kind: string, id: string | number): T {
  if (value === undefined) throw new ApiError(404, 'NOT_FOUND', `No ${kind} ${id}`);
  return value;
}

/**
 * The error body (specification, Error body): a bad request has three further members, a revoked token gives code and
 * identifier only.
 */
export function errorBody({ status, code, message }: ApiError): Record<string, string> {
  const body = { error_code: code, error_id: randomUUID() };
  if (code === AUTH_TOKEN_REVOKED) return body;
  if (status !== 400) return { ...body, error_message: message };
  return { ...body, error_message: message, error_message_code: code, error_message_description: message };
}

/** The log of the emulator. */
export interface EmulatorLogger {
  error(fields: object, message: string): void;
}

/** Returns 404 for every address that no route serves. */
export const unknownAddress: RequestHandler = (req) => {
  throw new ApiError(404, 'NOT_FOUND', `No operation ${req.method} ${req.path}`);
};

/** Returns an error body for every error. An error that is not the API's own is logged and returned as 500. */
export function handleErrors(logger: EmulatorLogger | undefined): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    const known = error instanceof ApiError ? error : readingError(error);
    if (known === undefined)
      logger?.error({ err: error, method: req.method, path: req.path }, 'request failed');
    const answered = known ?? internal(error);
    if (answered.retryAfter !== undefined) res.set('Retry-After', String(answered.retryAfter));
    res.status(answered.status).json(errorBody(answered));
  };
}

const httpErrorSchema = z.object({ status: z.int().min(400).max(499) });

/** An error of Express while it reads the request: the body is too large, its encoding unknown, or it is not JSON. */
function readingError(error: unknown): ApiError | undefined {
  const parsed = httpErrorSchema.safeParse(error);
  if (!parsed.success) return undefined;
  switch (parsed.data.status) {
    case 413:
      return new ApiError(413, 'PAYLOAD_TOO_LARGE', 'The body is larger than 1 MB');
    case 415:
      return new ApiError(415, 'UNSUPPORTED_MEDIA_TYPE', 'The encoding of the body is not supported');
    default:
      return badRequest('Invalid request: check that the body is JSON');
  }
}
