import { z } from 'zod';
import { AUTH_TOKEN_REVOKED, errorBodySchema, legacyErrorBodySchema } from './contract/shared.ts';

/**
 * A failed call of the cloud's API. `status` is absent if no answer came, `errorCode` and `errorId` if the answer had
 * none; `retryAfterMs` is the wait that the cloud requested. The message contains the call, the answer and what to do,
 * but never a credential.
 */
export class CloudApiError extends Error {
  override readonly name = 'CloudApiError';
  readonly method: string;
  readonly path: string;
  readonly status: number | undefined;
  readonly errorCode: string | undefined;
  readonly errorId: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Whether the answer was an HTML page: another system answered, whatever its status says. */
  readonly isHtml: boolean;
  /** Whether the call succeeded, but what it lists is not the whole. */
  readonly isIncomplete: boolean;

  constructor(message: string, details: Pick<CloudApiError, 'method' | 'path'> & Partial<CloudApiError>) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.method = details.method;
    this.path = details.path;
    this.status = details.status;
    this.errorCode = details.errorCode;
    this.errorId = details.errorId;
    this.retryAfterMs = details.retryAfterMs;
    this.isHtml = details.isHtml ?? false;
    this.isIncomplete = details.isIncomplete ?? false;
  }
}

/** Whether a call failed because the cloud does not have it, or not what it names. */
export function isMissing(
  error: unknown,
  statuses: readonly number[] = [404, 405],
): error is CloudApiError & { status: number } {
  if (!(error instanceof CloudApiError) || error.status === undefined) return false;
  return !error.isHtml && statuses.includes(error.status);
}

const eitherShape = z.union([
  errorBodySchema.transform((body) => ({
    code: body.error_code,
    id: body.error_id ?? undefined,
    message: body.error_message ?? body.error_message_description ?? undefined,
  })),
  legacyErrorBodySchema.transform((body) => ({
    code: body.error,
    id: body.uuid ?? undefined,
    message: body.message ?? undefined,
  })),
]);

/** The content of an error body in either documented shape; undefined if it has neither. */
export const readErrorBody = (body: unknown) => eitherShape.safeParse(body).data;

/** What an HTML page in place of an answer means. */
export const HTML_ADVICE =
  'an HTML page instead of JSON: is there a proxy in between, or is CLOUD_API_URL wrong?';

/** How to fix the error (specification, Status codes); undefined if that is obvious. */
export function adviceFor(path: string, status: number, errorCode: string | undefined): string | undefined {
  if (path === '/login' && (status === 400 || status === 401)) return 'check the user name and password';
  if (errorCode === AUTH_TOKEN_REVOKED) return 'the token was revoked: log in again or use another API token';
  if (status === 401) return 'the API token was not accepted: check it';
  if (status === 403) return 'the account or token lacks the permission for this call';
  if (status >= 300 && status < 400) return 'the address redirects: set the address of the target';
  return undefined;
}
