import type { DestinationsOptions } from '../console/destinations/destinations-area.ts';
import type { Destination } from '../forward/parse-destinations.ts';
import type { Db } from '../store/database.ts';
import { configuredDestination } from '../commands/destinations/destinations-change.ts';
import { resendRejected, sendTest } from '../forward/send-to-destination.ts';

/** What the console sends to destinations: as the commands do. */
export function sendingOf(
  db: Db,
  destinations: readonly Destination[],
): Pick<DestinationsOptions, 'configured' | 'sendTest' | 'resend'> {
  return {
    configured: destinations,
    sendTest: (name) => sendTest(configuredDestination(destinations, name), () => undefined),
    resend: (name, rejected) => resendRejected(db, configuredDestination(destinations, name), rejected),
  };
}
