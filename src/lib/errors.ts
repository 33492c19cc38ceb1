import { getSystemErrorMessage } from 'node:util';

/**
 * The errors that decide what happens next. Any other thrown error is a defect.
 */

/** Wrong settings or wrong usage: nothing has started, and the user must change something. Exit code 2. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError';
}

/** Invalid settings, each with its own line that names the setting and states what it must be. */
export class SettingsError extends UsageError {
  override readonly name = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`wrong settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** A dependency is unavailable (queue, database, disk). The same work will succeed later. */
export class OutageError extends Error {
  override readonly name = 'OutageError';
}

/** The messages of pg for a broken or unavailable connection without an error code of the operating system. */
const CONNECTION_MESSAGE =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered/;

/** Whether a connection could not be made, or broke. */
export const isConnectionFailure = (error: Error): boolean =>
  error instanceof AggregateError || 'syscall' in error || CONNECTION_MESSAGE.test(error.message);

/** SQLSTATE of a refused login (class 28), a missing database (3D) and a missing right. */
const REFUSED = /^(?:28|3D|42501)/;

/** Whether Postgres refused the login, the database or a right: an administrator has to act. */
export const isAccessRefused = (error: unknown): boolean =>
  error instanceof Error && 'severity' in error && 'code' in error && REFUSED.test(String(error.code));

class CodedError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An operation names something that does not exist. */
export class NotFoundError extends CodedError {
  override readonly name = 'NotFoundError';
}

/** The present state does not allow an operation: something else has to be changed first. */
export class ConflictError extends CodedError {
  override readonly name = 'ConflictError';
}

/** A request that is answered with an error of this HTTP status. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly code: string;
  /** Seconds, for the Retry-After header. */
  readonly retryAfter: number | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    options?: ErrorOptions & { retryAfter?: number },
  ) {
    super(message, options);
    this.status = status;
    this.code = code;
    this.retryAfter = options?.retryAfter;
  }
}

export const toError = (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** What Node.js advises after a certificate is no option of this program, which has CLOUD_CA_FILE and its like. */
const HINT_OF_NODE = '; if the root CA is installed locally, try running Node.js with --use-system-ca';

/**
 * The message of anything that was thrown, with the messages of its causes. A message of whole sentences, with a full stop
 * at its end, already explains them.
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = (error.message || error.name).replace(HINT_OF_NODE, '');
  if (own.endsWith('.')) return own;
  const inner = error instanceof AggregateError ? error.errors.map(describeError).join('; ') : '';
  const cause = error.cause === undefined ? '' : describeError(error.cause);
  return [own, inner, cause]
    .filter((part, index) => part !== '' && (index === 0 || !own.includes(part)))
    .join(': ');
}

/** The system's words for an error of a file or a connection, such as "permission denied", or else its message. */
export function reasonOf(error: unknown): string {
  // Of a host with several addresses.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  // The system's words are "unknown node or service".
  if (first instanceof Error && 'code' in first && first.code === 'ENOTFOUND') return 'host not found';
  return first instanceof Error && 'errno' in first && typeof first.errno === 'number'
    ? getSystemErrorMessage(first.errno)
    : describeError(error);
}
