import { z } from 'zod';
import { AUTH_TOKEN_REVOKED, errorBodySchema, legacyErrorBodySchema } from './contract/error-body.ts';

interface CloudApiErrorDetails {
  method: string;
  path: string;
  status?: number | undefined;
  errorCode?: string | undefined;
  errorId?: string | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/**
 * A call of the cloud's API that did not succeed. `status` is absent when no answer came, `errorCode` and `errorId`
 * when the answer named none; `retryAfterMs` is how long the cloud asked to wait. The message says which call, what
 * came back and what to do, never a credential.
 */
export class CloudApiError extends Error {
  override readonly name = 'CloudApiError';
  readonly method: string;
  readonly path: string;
  readonly status: number | undefined;
  readonly errorCode: string | undefined;
  readonly errorId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: CloudApiErrorDetails) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.method = details.method;
    this.path = details.path;
    this.status = details.status;
    this.errorCode = details.errorCode;
    this.errorId = details.errorId;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** What an error body says, read from either documented shape; every member absent when the body is neither. */
interface ErrorFields {
  code?: string | undefined;
  id?: string | undefined;
  message?: string | undefined;
}

const eitherShape = z.union([
  errorBodySchema.transform((body): ErrorFields => ({
    code: body.error_code,
    id: body.error_id ?? undefined,
    message: body.error_message ?? body.error_message_description ?? undefined,
  })),
  legacyErrorBodySchema.transform((body): ErrorFields => ({
    code: body.error,
    id: body.uuid ?? undefined,
    message: body.message ?? undefined,
  })),
]);

export function readErrorBody(body: unknown): ErrorFields {
  return eitherShape.safeParse(body).data ?? {};
}

/** What the reader of an error can do about it (specification, Status codes); undefined where that is plain. */
export function adviceFor(path: string, status: number, errorCode: string | undefined): string | undefined {
  if (path === '/login' && (status === 400 || status === 401)) return 'check the user name and password';
  if (errorCode === AUTH_TOKEN_REVOKED) return 'the token was revoked: log in again or use another API token';
  if (status === 401) return 'the token is not accepted: check the API token';
  if (status === 403) return 'the account or token lacks the permission for this call';
  if (status >= 300 && status < 400) return 'the address redirects: set the one it leads to';
  return undefined;
}
