import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import { createSequencer } from '../ledger/sequencer.ts';
import { openLogDatabase } from '../store/database.ts';
import { closing } from './closing.ts';
import { logLostConnections } from './open-store.ts';
import { repeat } from './repeat.ts';

/** The database whose events enter the log. */
interface SequencingOptions {
  readonly databaseUrl: string;
  readonly logger: Logger;
}

/** Extends the log from now on. The tables must be up to date. */
export function startSequencing(
  { databaseUrl, logger }: SequencingOptions,
  started: AsyncDisposableStack,
): void {
  const db = openLogDatabase(databaseUrl, logLostConnections(logger));
  started.defer(closing(logger, 'database of the log', () => db.destroy()));
  const sequencer = createSequencer(db, logger);
  const onError = (error: unknown) =>
    logger.warn({ err: error }, `the log was not extended: ${describeError(error)}`);
  const extending = repeat(
    () => sequencer.pauseMs(),
    () => sequencer.extend(),
    onError,
  );
  started.defer(closing(logger, 'sequencer', () => extending.stop()));
}
