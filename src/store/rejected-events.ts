import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { MessageType } from '../domain.ts';
import type { Db } from './database.ts';
import { positionOf } from './read-log.ts';
import { ALL_SOURCES, inScope, type Scope } from './scope.ts';
import type { StoredEvent } from './stored-event.ts';
import type { DestinationState, Tables } from './tables.ts';

/** An event that a destination rejected because of its content. */
export interface RejectedEvent {
  readonly eventId: string;
  readonly occurredAt: string;
  readonly messageType: MessageType;
  readonly reason: string;
}

export async function insertRejected(db: Db, destination: string, event: RejectedEvent): Promise<void> {
  const { eventId, occurredAt, messageType, reason } = event;
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

/** A rejected event, and when it was sent again. */
export type Rejected = Selectable<Tables['rejected_events']>;

/** The rejected events of a destination that were not sent again, oldest first. */
export async function listRejected(
  db: Db,
  scope: Scope,
  destination: string,
  limit: number,
): Promise<Rejected[]> {
  return openRejectedOf(db, scope, destination)
    .orderBy('rejected_at')
    .orderBy('event_id')
    .limit(limit)
    .execute();
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
  const query = openRejectedOf(db, scope, destination).orderBy('event_id').limit(limit);
  return (after === undefined ? query : query.where('event_id', '>', after)).execute();
}

/** The number of rejected events of a destination that were not sent again. */
export async function countRejected(db: Db, scope: Scope, destination: string): Promise<number> {
  const { count } = await db
    .selectFrom('rejected_events')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('destination', '=', destination)
    .where('replayed_at', 'is', null)
    .where(isOfScope(scope))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Those of these events that a destination rejected, sent again or not. */
export async function findRejected(
  db: Db,
  scope: Scope,
  destination: string,
  eventIds: readonly string[],
): Promise<Rejected[]> {
  return db
    .selectFrom('rejected_events')
    .selectAll()
    .where('destination', '=', destination)
    .where('event_id', 'in', eventIds)
    .where(isOfScope(scope))
    .execute();
}

const openRejectedOf = (db: Db, scope: Scope, destination: string) =>
  db
    .selectFrom('rejected_events')
    .selectAll()
    .where('destination', '=', destination)
    .where('replayed_at', 'is', null)
    .where(isOfScope(scope));

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
  await sql`
    with replayed as (
      update rejected_events set replayed_at = now()
      where destination = ${destination} and event_id = ${eventId}::uuid
    )
    update destinations set rejected_in_row = 0, last_error = null
    where name = ${destination} and state <> 'refused'
      and (rejected_in_row > 0 or last_error is not null)`.execute(db);
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
  const { rows } = await sql<EventForwarding>`
    select name as destination, state,
      coalesce(cursor_position > ${position}::bigint, false) as "hasPassed",
      reason, rejected_at as "rejectedAt", replayed_at as "replayedAt"
    from destinations left join rejected_events on destination = name
      and event_id = ${eventId}::uuid and occurred_at = ${occurredAt}::timestamptz
    order by name`.execute(db);
  return rows;
}
