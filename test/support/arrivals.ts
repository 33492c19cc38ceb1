import { sql } from 'kysely';
import type { MessageType } from '../../src/events/domain.ts';
import type { Db } from '../../src/store/server/database.ts';
import { rollUpArrivals } from '../../src/store/counts/roll-up-arrivals.ts';
import { waitFor } from './wait-for.ts';

/** Deliveries as the charts count them. */
export interface GivenDeliveries {
  readonly receivedAt: Date;
  readonly messageType: MessageType;
  readonly source?: string;
  /** How many deliveries; one when it is left out. */
  readonly count?: number;
  /** Events of each. */
  readonly events?: number;
  /** Records of each that are neither stored nor in quarantine. */
  readonly lost?: number;
}

/** Writes deliveries down as if they had been stored, and counts them. */
export async function deliverAndCount(db: Db, ...given: readonly GivenDeliveries[]): Promise<void> {
  for (const { receivedAt, messageType, source = 'default', count = 1, events = 1, lost = 0 } of given) {
    await sql`
      insert into deliveries (delivery_id, received_at, body_bytes, record_count, expected_count, event_count,
        duplicate_count, quarantined_count, source, message_type, origin)
      select gen_random_uuid(), ${receivedAt}, 100, ${events}::int, ${events + lost}::int, ${events}::int, 0, 0,
        ${source}, ${messageType}, 'webhook'
      from generate_series(1, ${count}::int)`.execute(db);
  }
  await countAll(db);
}

/** Counts all deliveries as arrivals. */
export async function countAll(db: Db): Promise<void> {
  // What a transaction of another test holds open is counted once that has ended.
  await waitFor(async () => {
    await rollUpArrivals(db);
    const { rows } = await sql<{ counted: boolean }>`
      select not exists (
        select from deliveries, arrivals_progress where xid >= next_xid
      ) as counted`.execute(db);
    return rows[0]?.counted;
  });
}
