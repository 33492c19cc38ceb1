import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { MessageType } from '../../events/domain.ts';
import type { Db } from '../server/database.ts';
import { positionOf } from '../log/read-log.ts';
import { ALL_SOURCES, inScope, type Scope } from '../server/scope.ts';
import type { StoredEvent } from '../../events/stored-event.ts';
import type { Tables } from '../server/schema/tables.ts';

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
    .values({ destination, event_id: eventId, occurred_at: occurredAt, message_type: messageType, reason })
    .onConflict((exists) =>
      exists
        .columns(['destination', 'event_id', 'occurred_at'])
        .doUpdateSet({ reason, rejected_at: sql`now()`, replayed_at: null }),
    )
    .execute();
}

/** A rejected event, and when it was sent again. */
export type Rejected = Selectable<Tables['rejected_events']>;

/** The rejected events of a destination that were not sent again, oldest first. */
export async function listRejected(db: Db, scope: Scope, destination: string, limit: number) {
  return openOf(db, scope, destination)
    .selectAll()
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
  const page = openOf(db, scope, destination).selectAll().orderBy('event_id').limit(limit);
  return (after === undefined ? page : page.where('event_id', '>', after)).execute();
}

/** The number of rejected events of a destination that were not sent again. */
export async function countRejected(db: Db, scope: Scope, destination: string): Promise<number> {
  const { count } = await openOf(db, scope, destination)
    .select(db.fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Those of these events that a destination rejected, sent again or not. */
export async function findRejected(db: Db, scope: Scope, destination: string, eventIds: readonly string[]) {
  return db
    .selectFrom('rejected_events')
    .selectAll()
    .where('destination', '=', destination)
    .where(sql<boolean>`event_id = any(${eventIds}::uuid[])`)
    .where(isOfScope(scope))
    .execute();
}

/** The events of a destination that were not sent again. */
const openOf = (db: Db, scope: Scope, destination: string) =>
  db
    .selectFrom('rejected_events')
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
  await db
    .with('replayed', (also) =>
      also
        .updateTable('rejected_events')
        .set({ replayed_at: sql`now()` })
        .where('destination', '=', destination)
        .where('event_id', '=', eventId),
    )
    .updateTable('destinations')
    .set({ rejected_in_row: 0, last_error: null })
    .where('name', '=', destination)
    .where('state', '<>', 'refused')
    .where((is) => is.or([is('rejected_in_row', '>', 0), is('last_error', 'is not', null)]))
    .execute();
}

export type EventForwarding = Awaited<ReturnType<typeof forwardingOf>>[number];

/**
 * The state of an event at each destination, by name. `hasPassed`: it was sent, filtered out, or stored before the
 * destination started. `reason`: why the destination rejected it; null when it did not.
 */
export async function forwardingOf(
  db: Db,
  event: Pick<StoredEvent, 'eventId' | 'occurredAt' | 'receivedAt'>,
) {
  const { eventId, occurredAt } = event;
  const position = (await positionOf(db, event)) ?? null;
  return db
    .selectFrom('destinations')
    .leftJoin('rejected_events', (rejected) =>
      rejected
        .onRef('destination', '=', 'name')
        .on('event_id', '=', eventId)
        .on('occurred_at', '=', sql<Date>`${occurredAt}`),
    )
    .select([
      'name as destination',
      'state',
      'reason',
      'rejected_at as rejectedAt',
      'replayed_at as replayedAt',
    ])
    .select(sql<boolean>`coalesce(cursor_position > ${position}::bigint, false)`.as('hasPassed'))
    .orderBy('name')
    .execute();
}
