import { sql } from 'kysely';
import type { Db } from './database.ts';
import type { DestinationState } from './destinations.ts';
import type { StoredEvent } from './read-events.ts';

/** How one event stands with one destination. */
export interface EventForwarding {
  readonly destination: string;
  readonly state: DestinationState;
  /** Sent, unless the destination's filter leaves it out, or it began behind the event. */
  readonly hasPassed: boolean;
  /** Why the destination refused it; null when it did not. */
  readonly reason: string | null;
  readonly rejectedAt: Date | null;
  /** When it was sent after all. */
  readonly replayedAt: Date | null;
}

/** Whether each destination, by name, has passed an event, or has refused it. */
export async function forwardingOf(
  db: Db,
  { xid, id, eventId, occurredAt }: Pick<StoredEvent, 'xid' | 'id' | 'eventId' | 'occurredAt'>,
): Promise<readonly EventForwarding[]> {
  const { rows } = await sql<EventForwarding>`
    select name as destination, state,
      (cursor_xid, cursor_id) >= (${xid}::xid8, ${id}::bigint) as "hasPassed",
      reason, rejected_at as "rejectedAt", replayed_at as "replayedAt"
    from destinations left join rejected_events on destination = name
      and event_id = ${eventId}::uuid and occurred_at = ${occurredAt}::timestamptz
    order by name`.execute(db);
  return rows;
}
