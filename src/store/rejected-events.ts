import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { MessageType } from '../domain.ts';
import type { Db } from './database.ts';
import { positionOf } from './read-log.ts';
import { ALL_SOURCES, inScope, type Scope } from './scope.ts';
import type { StoredEvent } from './stored-event.ts';
import type { DestinationState, Tables } from './tables.ts';
import { allRows, onlyRow, run } from './statement.ts';

/** An event that a destination rejected because of its content. */
export interface RejectedEvent {
  readonly eventId: string;
  readonly occurredAt: string;
  readonly messageType: MessageType;
  readonly reason: string;
}

export async function insertRejected(db: Db, destination: string, event: RejectedEvent): Promise<void> {
  const { eventId, occurredAt, messageType, reason } = event;
  await run(db)`
    insert into rejected_events (destination, event_id, occurred_at, message_type, reason)
    values (${destination}, ${eventId}::uuid, ${occurredAt}::timestamptz, ${messageType}, ${reason})
    on conflict (destination, event_id, occurred_at) do update
      set reason = excluded.reason, rejected_at = now(), replayed_at = null`;
}

/** A rejected event, and when it was sent again. */
export type Rejected = Selectable<Tables['rejected_events']>;

/** The rejected events of a destination that were not sent again, oldest first. */
export async function listRejected(
  db: Db,
  scope: Scope,
  destination: string,
  limit: number,
): Promise<Rejected[]> {
  return allRows<Rejected>(db)`
    select * from rejected_events where ${isOpen(scope, destination)} order by rejected_at, event_id limit ${limit}`;
}

/** All rejected events of a destination that were not sent again, ordered by event id, read page by page. */
export async function* openRejected(
  db: Db,
  scope: Scope,
  destination: string,
  pageSize: number,
): AsyncGenerator<Rejected> {
  let page = await pageOfRejected(db, scope, destination, pageSize);
  for (;;) {
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    page = await pageOfRejected(db, scope, destination, pageSize, last.event_id);
  }
}

/** One page of the rejected events that were not sent again, ordered by event id, after an id. */
export async function pageOfRejected(
  db: Db,
  scope: Scope,
  destination: string,
  limit: number,
  after?: string,
): Promise<Rejected[]> {
  const isBehind = after === undefined ? sql`true` : sql`event_id > ${after}::uuid`;
  return allRows<Rejected>(db)`
    select * from rejected_events where ${isOpen(scope, destination)} and ${isBehind}
    order by event_id limit ${limit}`;
}

/** The number of rejected events of a destination that were not sent again. */
export async function countRejected(db: Db, scope: Scope, destination: string): Promise<number> {
  const { count } = await onlyRow<{ count: number }>(db)`
    select count(*)::float8 as count from rejected_events where ${isOpen(scope, destination)}`;
  return count;
}

/** Those of these events that a destination rejected, sent again or not. */
export async function findRejected(
  db: Db,
  scope: Scope,
  destination: string,
  eventIds: readonly string[],
): Promise<Rejected[]> {
  return allRows<Rejected>(db)`
    select * from rejected_events
    where destination = ${destination} and event_id = any(${eventIds}::uuid[]) and ${isOfScope(scope)}`;
}

/** The events of a destination that were not sent again. */
const isOpen = (scope: Scope, destination: string) =>
  sql`destination = ${destination} and replayed_at is null and ${isOfScope(scope)}`;

/**
 * A rejected event has the source of its stored event. Once retention has dropped that, only readers of all sources see
 * the rejection. With an offset, Postgres looks up each event by its key, instead of reading the sources' events.
 */
export const isOfScope = (scope: Scope): RawBuilder<boolean> =>
  scope === ALL_SOURCES
    ? sql<boolean>`true`
    : sql<boolean>`exists (
        select from events where events.event_id = rejected_events.event_id
          and events.occurred_at = rejected_events.occurred_at and ${inScope(scope, 'events.source')}
        offset 0)`;

/**
 * Records that a destination accepted a rejected event that was sent again, which ends its row of rejected ones. If it
 * is refused, it stays so with its reason until an operator resumes.
 */
export async function markReplayed(db: Db, destination: string, eventId: string): Promise<void> {
  await run(db)`
    with replayed as (
      update rejected_events set replayed_at = now()
      where destination = ${destination} and event_id = ${eventId}::uuid
    )
    update destinations set rejected_in_row = 0, last_error = null
    where name = ${destination} and state <> 'refused'
      and (rejected_in_row > 0 or last_error is not null)`;
}

/** The state of one event at one destination. */
export interface EventForwarding {
  readonly destination: string;
  readonly state: DestinationState;
  /** The cursor is past the event: sent, filtered out, or stored before the destination started. */
  readonly hasPassed: boolean;
  /** Why the destination rejected the event; null when it did not. */
  readonly reason: string | null;
  readonly rejectedAt: Date | null;
  /** When it was sent again. */
  readonly replayedAt: Date | null;
}

/** The state of an event at each destination, by name. */
export async function forwardingOf(
  db: Db,
  event: Pick<StoredEvent, 'eventId' | 'occurredAt' | 'receivedAt'>,
): Promise<readonly EventForwarding[]> {
  const { eventId, occurredAt } = event;
  const position = (await positionOf(db, event)) ?? null;
  return allRows<EventForwarding>(db)`
    select name as destination, state,
      coalesce(cursor_position > ${position}::bigint, false) as "hasPassed",
      reason, rejected_at as "rejectedAt", replayed_at as "replayedAt"
    from destinations left join rejected_events on destination = name
      and event_id = ${eventId}::uuid and occurred_at = ${occurredAt}::timestamptz
    order by name`;
}
