/**
 * The few errors that decide what happens next. Everything else that is thrown is a defect.
 */

/** Wrong settings or wrong usage: nothing was started, the person has to change something. Exit code 2. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError';
}

/** Wrong settings, each with a line of its own that names it and says what it must be. */
export class SettingsError extends UsageError {
  override readonly name = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`wrong settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Something this program needs is away (queue, database, disk); the same work will succeed later. */
export class OutageError extends Error {
  override readonly name = 'OutageError';
}

/** A request that is answered with an HTTP status of its own instead of a receipt. */
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

/**
 * The message of anything that was thrown, with the messages of its causes. A message of whole sentences, with a full stop
 * at its end, already explains them.
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.message || error.name;
  if (own.endsWith('.')) return own;
  const inner = error instanceof AggregateError ? error.errors.map(describeError).join('; ') : '';
  const cause = error.cause === undefined ? '' : describeError(error.cause);
  return [own, inner, cause]
    .filter((part, index) => part !== '' && (index === 0 || !own.includes(part)))
    .join(': ');
}
