import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { AUTH_TOKEN_REVOKED } from '../src/cloud/contract/shared.ts';

/**
 * `error_code`s in use. Four are named by the specification (BAD_REQUEST, AUTH_TOKEN_REVOKED, UNIMPLEMENTED,
 * FAILED_PRECONDITION); the others follow the naming those come from.
 */
export type ErrorCode =
  | 'BAD_REQUEST'
  | typeof AUTH_TOKEN_REVOKED
  | 'UNIMPLEMENTED'
  | 'FAILED_PRECONDITION'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
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

/** The request is wrong and stays wrong when repeated. */
export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BAD_REQUEST', message);
}

/** The token is missing, malformed, expired or belongs to nobody. */
export function unauthenticated(message: string): ApiError {
  return new ApiError(401, 'UNAUTHENTICATED', message);
}

/** A 400 that names each member that is wrong, never its value. */
export function invalidRequest(error: z.ZodError): ApiError {
  const problems = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  return badRequest(problems.join('; '));
}

/** The value, or a 404 that names what is not there. */
export function found<T>(value: T | undefined, what: string, id: string | number | bigint): T {
  if (value === undefined) throw new ApiError(404, 'NOT_FOUND', `There is no ${what} ${id}`);
  return value;
}

/**
 * The error body (specification, Error body): a bad request carries three members more, a revoked token's answer
 * nothing but code and id.
 */
export function errorBody({ status, code, message }: ApiError): Record<string, string> {
  const body = { error_code: code, error_id: randomUUID() };
  if (code === AUTH_TOKEN_REVOKED) return body;
  if (status !== 400) return { ...body, error_message: message };
  return { ...body, error_message: message, error_message_code: code, error_message_description: message };
}
