import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import { classifyFailure } from '../store/failure.ts';
import type { FailureKind } from '../store/failure.ts';
import { createOpened } from './opened.ts';
import type { Opened } from './opened.ts';

/** What is started as soon as the database answers; what it has opened is closed when it throws. */
export type Start = (started: Opened) => Promise<void>;

/** A database that is away at the start is tried again this often. */
const RETRY_INTERVAL_MS = 2_000;

/**
 * Starts what works on the database. A database that is away is waited for, in the background, because deliveries
 * must be taken meanwhile: then this resolves before anything has started. Throws when the database answers and
 * refuses, which no waiting mends.
 */
export async function startWithDatabase(start: Start, logger: Logger, opened: Opened): Promise<void> {
  const started = createOpened(logger);
  const stopping = new AbortController();
  let background = Promise.resolve();
  opened.push('what works on the database', async () => {
    stopping.abort();
    await background;
    await started.closeAll();
  });
  if (await tryToStart(start, logger, started)) return;
  background = keepTrying(start, logger, started, stopping.signal);
}

async function keepTrying(start: Start, logger: Logger, started: Opened, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(RETRY_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      if (!(await tryToStart(start, logger, started))) continue;
      logger.info('the database answers: work has begun');
      return;
    } catch (error) {
      logger.error({ err: error }, `the database refuses: ${describeError(error)}`);
    }
  }
}

/** False when the database is away. */
async function tryToStart(start: Start, logger: Logger, started: Opened): Promise<boolean> {
  try {
    await start(started);
    return true;
  } catch (error) {
    await started.closeAll();
    if (!isAway(error)) throw error;
    logger.warn(`the database is away and waited for: ${describeError(error)}`);
    return false;
  }
}

/** What time or somebody else mends. A refusal (credentials, name, rights) is for the person who starts this. */
const AWAY: ReadonlySet<FailureKind> = new Set([
  'connection lost',
  'database read-only',
  'disk full',
  'too many connections',
  'statement time-out',
]);

/** The migrator and BullMQ wrap what the connection reported. */
function isAway(error: unknown): boolean {
  if (AWAY.has(classifyFailure(error))) return true;
  return error instanceof Error && error.cause !== undefined && isAway(error.cause);
}
