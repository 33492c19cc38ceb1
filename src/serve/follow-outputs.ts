import type { Logger } from 'pino';
import { repeatInBackground } from '../lib/repeat.ts';
import type { Db } from '../store/server/database.ts';
import { listAddedOutputs } from '../store/destinations/added-outputs.ts';
import type { LiveSettings } from './live-settings.ts';

const INTERVAL_MS = 1_000;

/**
 * Puts the destinations that were added to the database in force, and follows their changes. The tables must be up to date.
 * While the database is away, those that are known stay in force.
 */
export async function followOutputs(
  db: Db,
  live: LiveSettings,
  logger: Logger,
  started: AsyncDisposableStack,
): Promise<void> {
  const work = async () => (live.useOutputs(await listAddedOutputs(db)) ? 'done' : 'idle');
  await work();
  const failure = "can't read the destinations in the database; the known ones remain active";
  repeatInBackground(
    { part: 'reading of destinations', failure, pauseMs: INTERVAL_MS, work },
    logger,
    started,
  );
}
