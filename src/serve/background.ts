import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import type { Db } from '../store/database.ts';
import { closing } from './closing.ts';
import type { LiveSettings } from './live-settings.ts';
import type { Observation } from './observation.ts';
import { logLostConnections } from './open-store.ts';
import { repeat } from './repeat.ts';

/** What the parts that work in the background are started with. */
export interface PartOptions {
  readonly live: LiveSettings;
  readonly databaseUrl: string;
  readonly observation: Observation;
  readonly logger: Logger;
}

/** Opens connections that a part has for itself, until everything is closed. */
export function openFor(
  part: string,
  open: (databaseUrl: string, onError: (error: Error) => void) => Db,
  { databaseUrl, logger }: Pick<PartOptions, 'databaseUrl' | 'logger'>,
  started: AsyncDisposableStack,
): Db {
  const db = open(databaseUrl, logLostConnections(logger));
  started.defer(closing(logger, `database of ${part}`, () => db.destroy()));
  return db;
}

interface BackgroundWork {
  /** The name of the part, for the log. */
  readonly part: string;
  /** What a failure means, for the log; the reason follows. */
  readonly failure: string;
  readonly level?: 'warn' | 'error';
  readonly pauseMs: number | (() => number);
  /** One round. `more`: the next one follows at once. */
  readonly work: () => Promise<'more' | 'done' | void>;
  /** Is aborted before the last round is waited for, which may fail then. */
  readonly stopping?: AbortController;
  /** Called after the last round. */
  readonly leave?: () => Promise<void>;
}

/** Repeats work from now on, until everything is closed. A failure is logged, and the next round tries again. */
export function repeatInBackground(
  { part, failure, level = 'warn', pauseMs, work, stopping, leave }: BackgroundWork,
  logger: Logger,
  started: AsyncDisposableStack,
): void {
  const round = async () => (await work()) ?? 'done';
  const repetition = repeat(pauseMs, round, (error) => {
    if (stopping?.signal.aborted === true) return;
    logger[level]({ err: error }, `${failure}: ${describeError(error)}`);
  });
  const stop = async () => {
    stopping?.abort();
    await repetition.stop();
    await leave?.();
  };
  started.defer(closing(logger, part, stop));
}
