import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import type { MessageType } from '../domain.ts';
import type { Db } from './database.ts';
import type { StoredEvent } from './stored-event.ts';
import type { DestinationState, Tables } from './tables.ts';

/** An event that a destination has refused for what it says. */
export interface RejectedEvent {
  readonly eventId: string;
  readonly occurredAt: string;
  readonly messageType: MessageType;
  readonly reason: string;
}

export async function insertRejected(
  db: Db,
  destination: string,
  { eventId, occurredAt, messageType, reason }: RejectedEvent,
): Promise<void> {
  await db
    .insertInto('rejected_events')
    .values({
      destination,
      event_id: eventId,
      occurred_at: new Date(occurredAt),
      message_type: messageType,
      reason,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['destination', 'event_id', 'occurred_at'])
        .doUpdateSet({ reason, rejected_at: sql<Date>`now()`, replayed_at: null }),
    )
    .execute();
}

/** An event that a destination has refused, and what became of it. */
export type Rejected = Selectable<Tables['rejected_events']>;

/** Events that a destination has refused and that were not sent again, oldest first. */
export async function listRejected(db: Db, destination: string, limit: number): Promise<Rejected[]> {
  return openRejectedOf(db, destination).orderBy('rejected_at').orderBy('event_id').limit(limit).execute();
}

/** All events that a destination has refused and that were not sent again, in the order of their ids, read by pages. */
export async function* openRejected(db: Db, destination: string, pageSize: number): AsyncGenerator<Rejected> {
  let page = await pageOfRejected(db, destination, pageSize);
  for (;;) {
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    page = await pageOfRejected(db, destination, pageSize, last.event_id);
  }
}

/** One page of what a destination has refused and was not sent again, in the order of their ids, behind an id. */
export async function pageOfRejected(
  db: Db,
  destination: string,
  limit: number,
  after?: string,
): Promise<Rejected[]> {
  const query = openRejectedOf(db, destination).orderBy('event_id').limit(limit);
  return (after === undefined ? query : query.where('event_id', '>', after)).execute();
}

/** How many events a destination has refused that were not sent again. */
export async function countRejected(db: Db, destination: string): Promise<number> {
  const { count } = await db
    .selectFrom('rejected_events')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('destination', '=', destination)
    .where('replayed_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Those of these events that a destination has refused, sent again or not. */
export async function findRejected(
  db: Db,
  destination: string,
  eventIds: readonly string[],
): Promise<Rejected[]> {
  return db
    .selectFrom('rejected_events')
    .selectAll()
    .where('destination', '=', destination)
    .where('event_id', 'in', eventIds)
    .execute();
}

const openRejectedOf = (db: Db, destination: string) =>
  db
    .selectFrom('rejected_events')
    .selectAll()
    .where('destination', '=', destination)
    .where('replayed_at', 'is', null);

/** Remembers that a refused event was sent after all. */
export async function markReplayed(db: Db, destination: string, eventId: string): Promise<void> {
  await db
    .updateTable('rejected_events')
    .set({ replayed_at: sql<Date>`now()` })
    .where('destination', '=', destination)
    .where('event_id', '=', eventId)
    .execute();
}

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
