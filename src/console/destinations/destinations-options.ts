import type { Db } from '../../store/database.ts';
import type { ConfiguredDestination } from '../../store/destinations.ts';
import type { Rejected } from '../../store/rejected-events.ts';

/** What pages and routes of destinations work with. */
export interface DestinationsOptions {
  readonly db: Db;
  readonly configured: readonly ConfiguredDestination[];
  /** Sends an event that says that it is a test; `refusal` is undefined when it was taken. Throws when nothing can be sent. */
  readonly sendTest: (
    name: string,
  ) => Promise<{ readonly eventId: string; readonly refusal: string | undefined }>;
  /** Sends refused events again, one by one as the results are asked for. Throws when nothing can be sent. */
  readonly resend: (
    name: string,
    rejected: readonly Rejected[],
  ) => AsyncIterable<{ readonly eventId: string; readonly reason: string | undefined }>;
}
