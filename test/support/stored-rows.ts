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

/** Stores a delivery, as a statement of a session of its own. */
export const INSERT_DELIVERY = `insert into deliveries (delivery_id, received_at, body_bytes, record_count, expected_count,
    event_count, duplicate_count, quarantined_count, source, message_type, origin)
  values (gen_random_uuid(), now(), 1, 50, 50, 50, 0, 0, 's', 'AUDIT_LOG_ALL', 'webhook')`;

/** Stores a hundred events in the same way. */
export const INSERT_EVENTS = `insert into audit_events
  (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
  select now(), now(), gen_random_uuid(), gen_random_uuid(), 's', 'AUDIT_LOG_ALL', 'webhook', '{}'
  from generate_series(1, 100)`;
