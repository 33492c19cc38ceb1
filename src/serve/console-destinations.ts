import type { IsFiltered } from '../console/events/describe-event.ts';
import type { DestinationsOptions } from '../console/destinations/destinations-options.ts';
import { createFilter } from '../forward/destination-filter.ts';
import { findDestination } from '../forward/parse-destinations.ts';
import type { Destination } from '../forward/parse-destinations.ts';
import type { Db } from '../store/database.ts';
import { resendRejected, sendTest } from '../forward/send-to-destination.ts';

/** What the console sends to destinations: as the commands do. */
export function sendingOf(
  db: Db,
  destinations: readonly Destination[],
): Pick<DestinationsOptions, 'configured' | 'sendTest' | 'resend'> {
  return {
    configured: destinations,
    sendTest: (name) => sendTest(findDestination(destinations, name), () => undefined),
    resend: (name, rejected) => resendRejected(db, findDestination(destinations, name), rejected),
  };
}

/** Whether a destination's current filter leaves an event out. One that is not configured any more has no filter. */
export function filteredBy(destinations: readonly Destination[]): IsFiltered {
  const filters = new Map(destinations.map(({ name, filter }) => [name, createFilter(filter)]));
  return (destination, event) => filters.get(destination)?.(event) === false;
}
