import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import { classifyFailure, type FailureKind } from '../store/failure.ts';

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
  const background = keepTrying(start, logger, started, AbortSignal.any([signal, stopping.signal]));
  opened.defer(async () => {
    stopping.abort();
    await background;
  });
}

async function keepTrying(
  start: Start,
  logger: Logger,
  started: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(RETRY_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      if (!(await tryToStart(start, logger, started, signal))) continue;
      logger.info('the database is available: storing and forwarding have started');
      return;
    } catch (error) {
      if (signal.aborted) return;
      logger.error({ err: error }, `the database refuses: ${describeError(error)}`);
    }
  }
}

/** False if the database is away: whatever was started is closed then. */
async function tryToStart(
  start: Start,
  logger: Logger,
  started: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<boolean> {
  await using attempt = new AsyncDisposableStack();
  try {
    await start(attempt, signal);
  } catch (error) {
    if (signal.aborted || !isAway(error)) throw error;
    logger.warn(`waiting for the database: ${describeError(error)}`);
    return false;
  }
  started.use(attempt.move());
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

/** Where the start is. */
interface StartState {
  readonly step: string;
  /** When it began for the first time, in epoch milliseconds. */
  readonly since: number;
  /** Why it has to be repeated; undefined while it runs for the first time. */
  readonly failure: string | undefined;
}

/**
 * The steps of the start that need the database, for readiness: any of them may wait for others. `isNeeded`: whether there is
 * anything to start.
 */
export function createStartSteps(isNeeded: boolean) {
  let current: StartState | undefined = isNeeded
    ? { step: 'start', since: Date.now(), failure: undefined }
    : undefined;
  return {
    /** Runs a step. */
    async run<T>(step: string, work: () => Promise<T>): Promise<T> {
      if (current?.step !== step) current = { step, since: Date.now(), failure: undefined };
      try {
        return await work();
      } catch (error) {
        current = { ...current, failure: describeError(error) };
        throw error;
      }
    },
    /** Everything runs. */
    done(): void {
      current = undefined;
    },
    /** The current step, or the one that failed last and will be repeated; undefined once everything runs. */
    state: () => current,
  };
}
