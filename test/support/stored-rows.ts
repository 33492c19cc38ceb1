import { sql } from 'kysely';
import type { Db } from '../../src/store/server/database.ts';

interface GivenAudits {
  readonly occurredAt?: Date | string;
  readonly receivedAt?: Date | string;
  readonly count?: number;
}

/** Inserts audit events without a delivery, as an administrator may by hand. */
export async function insertAudits(
  db: Db,
  { occurredAt = new Date(), receivedAt = new Date(), count = 1 }: GivenAudits,
): Promise<void> {
  await sql`
    insert into audit_events (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
    select ${occurredAt}::timestamptz, ${receivedAt}::timestamptz, gen_random_uuid(), gen_random_uuid(), 's',
      'AUDIT_LOG_ALL', 'webhook', '{}'
    from generate_series(1, ${count}::int)`.execute(db);
}
