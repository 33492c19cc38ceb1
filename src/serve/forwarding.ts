import type { Logger } from 'pino';
import { startForwarding } from '../forward/forward-events.ts';
import type { ForwardObserver } from '../forward/forward-events.ts';
import type { Destination } from '../forward/parse-destinations.ts';
import { openForwardingDatabase } from '../store/database.ts';
import { addDestination } from '../store/destinations.ts';
import { endOfEvents } from '../store/read-events.ts';
import { logLostConnections } from './open-store.ts';
import type { Opened } from './opened.ts';

/** What forwarding needs: where the events are, and where they go. */
export interface ForwardingOptions {
  readonly databaseUrl: string;
  readonly destinations: readonly Destination[];
  readonly observation: { readonly forwarding: ForwardObserver };
  readonly logger: Logger;
}

/**
 * Forwards to every destination, each for itself: what happens to one concerns no other. One that is new begins with
 * the events that are stored from now on. The tables must be up to date.
 */
export async function startForwardings(options: ForwardingOptions, started: Opened): Promise<void> {
  const { databaseUrl, destinations, observation, logger } = options;
  if (destinations.length === 0) {
    logger.info('no destinations are set: nothing is forwarded');
    return;
  }
  const db = openForwardingDatabase(databaseUrl, logLostConnections(logger));
  started.push('database of the forwarder', () => db.destroy());
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
  started.push('forwarding', async () => {
    // All at once, so that each has the whole time to finish the batch that it has in hand.
    const ends = await Promise.allSettled(forwardings.map((forwarding) => forwarding.stop()));
    const failures = ends.filter((end) => end.status === 'rejected').map(({ reason }): unknown => reason);
    if (failures.length > 0) throw new AggregateError(failures, 'not every destination was left in order');
  });
  logger.info({ destinations: destinations.map(({ name }) => name) }, 'forwarding');
}
