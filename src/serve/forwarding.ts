import type { Logger } from 'pino';
import { startForwarding } from '../forward/forward-events.ts';
import type { Destination } from '../forward/parse-destinations.ts';
import { openForwardingDatabase } from '../store/database.ts';
import { addDestination } from '../store/destinations.ts';
import { endOfEvents } from '../store/read-events.ts';
import { closing } from './closing.ts';
import type { Observation } from './observation.ts';
import { logLostConnections } from './open-store.ts';

/** The events to forward, and their destinations. */
export interface ForwardingOptions {
  readonly databaseUrl: string;
  readonly destinations: readonly Destination[];
  readonly observation: Pick<Observation, 'forwarding' | 'addPool'>;
  readonly logger: Logger;
}

/**
 * Forwards to every destination independently of the others. A new one begins with the events stored from now on. The
 * tables must be up to date.
 */
export async function startForwardings(
  options: ForwardingOptions,
  started: AsyncDisposableStack,
): Promise<void> {
  const { databaseUrl, destinations, observation, logger } = options;
  if (destinations.length === 0) {
    logger.info('no destinations are configured: nothing is forwarded');
    return;
  }
  const db = openForwardingDatabase(databaseUrl, logLostConnections(logger));
  started.defer(closing(logger, 'database of the forwarder', () => db.destroy()));
  observation.addPool('forwarding', db, started);
  const start = await endOfEvents(db);
  for (const { name } of destinations) await addDestination(db, name, start);
  const forwardings = destinations.map((destination) =>
    startForwarding(
      { ...destination, sender: destination.createSender() },
      db,
      logger,
      observation.forwarding,
    ),
  );
  const stop = async () => {
    // All at the same time, so that each has the whole time to finish its current batch.
    const ends = await Promise.allSettled(forwardings.map((forwarding) => forwarding.stop()));
    const failures = ends.filter((end) => end.status === 'rejected').map(({ reason }): unknown => reason);
    if (failures.length > 0) throw new AggregateError(failures, 'not every destination stopped cleanly');
  };
  started.defer(closing(logger, 'forwarding', stop));
  logger.info({ destinations: destinations.map(({ name }) => name) }, 'forwarding');
}
