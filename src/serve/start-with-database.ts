import type { Logger } from 'pino';
import { failuresIn } from '../lib/failure-log.ts';
import { repeat } from '../lib/repeat.ts';
import { classifyFailure, type FailureKind } from '../store/server/failure.ts';

/** Starts the parts that need the database, and defers their closing. The signal cancels it. */
export type Start = (started: AsyncDisposableStack, signal: AbortSignal) => Promise<void>;

/** A database that is away at the start is tried again this often. */
const RETRY_INTERVAL_MS = 2_000;

/**
 * Starts the parts that need the database. While the database is away this waits for it in the background and resolves
 * at once, because deliveries must be accepted meanwhile. Throws if the database answers and refuses: waiting does not
 * help then. Throws the reason of the signal once that has fired.
 */
export async function startWithDatabase(
  start: Start,
  logger: Logger,
  signal: AbortSignal,
  opened: AsyncDisposableStack,
): Promise<void> {
  const started = opened.use(new AsyncDisposableStack());
  if (await tryToStart(start, logger, started, signal)) return;
  signal.throwIfAborted();
  const stopping = new AbortController();
  const failures = failuresIn(logger);
  const either = AbortSignal.any([signal, stopping.signal]);
  const trying = repeat({
    pauseMs: RETRY_INTERVAL_MS,
    delayMs: RETRY_INTERVAL_MS,
    stopping,
    async work() {
      if (signal.aborted) return 'over';
      if (!(await tryToStart(start, logger, started, either))) return 'done';
      logger.info('the database is available: storing and forwarding have started');
      return 'over';
    },
    onError(error) {
      if (!signal.aborted) failures.report('start', error, 'the database refuses', { level: 'error' });
    },
  });
  opened.defer(() => trying.stop());
}

/** False if the database is away: whatever was started is closed then. */
async function tryToStart(start: Start, logger: Logger, started: AsyncDisposableStack, signal: AbortSignal) {
  await using attempt = new AsyncDisposableStack();
  try {
    await start(attempt, signal);
  } catch (error) {
    if (signal.aborted || !isAway(error)) throw error;
    failuresIn(logger).report('start', error, 'waiting for the database');
    return false;
  }
  started.use(attempt.move());
  failuresIn(logger).clear('start');
  return true;
}

/** Failures that pass. A refusal (credentials, name, privileges) is for the person who starts this program. */
const AWAY: ReadonlySet<FailureKind> = new Set([
  'connection lost',
  'database read-only',
  'disk full',
  'too many connections',
  'statement time-out',
]);

/** The migrator and BullMQ wrap the error of the connection. */
function isAway(error: unknown): boolean {
  if (AWAY.has(classifyFailure(error))) return true;
  return error instanceof Error && error.cause !== undefined && isAway(error.cause);
}
