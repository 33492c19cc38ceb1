import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import type { MessageType } from '../domain.ts';
import type { Database, Db } from './database.ts';

/** What to look for; every condition that is given must hold. */
export interface EventFilter {
  readonly messageType?: MessageType | undefined;
  readonly source?: string | undefined;
  /** User name, exactly. */
  readonly user?: string | undefined;
  /** The audit record's event code. */
  readonly code?: string | undefined;
  /** MAC address of a client or an access point. */
  readonly mac?: string | undefined;
  /** Any part of the record's text, whatever its case. */
  readonly text?: string | undefined;
  /** Inclusive. */
  readonly since?: Date | undefined;
  /** Exclusive. */
  readonly until?: Date | undefined;
}

/** Where a page ended: the next one begins behind it. */
export interface EventPosition {
  readonly occurredAt: Date;
  readonly eventId: string;
}

export type FoundEvent = Selectable<Database['events']>;

/** Events that match, newest first, one page: it costs the same however far back the position lies. */
export async function searchEvents(
  db: Db,
  filter: EventFilter,
  page: { readonly limit: number; readonly after?: EventPosition | undefined },
): Promise<FoundEvent[]> {
  let query = filteredEvents(db, filter)
    .orderBy('occurred_at', 'desc')
    .orderBy('event_id', 'desc')
    .limit(page.limit);
  if (page.after !== undefined) {
    const { occurredAt, eventId } = page.after;
    query = query
      .where('occurred_at', '<=', occurredAt)
      .where(sql<boolean>`(occurred_at, event_id) < (${occurredAt}, ${eventId}::uuid)`);
  }
  return query.execute();
}

/** A place in the order in which events were stored. */
export interface StoredPosition {
  /** Transaction, then id within it. */
  readonly xid: string;
  readonly id: string;
}

/** The place behind everything stored so far. */
export async function endOfEvents(db: Db): Promise<StoredPosition> {
  const { rows } = await sql<{ xid: string }>`
    select pg_snapshot_xmin(pg_current_snapshot())::text as xid`.execute(db);
  return { xid: rows[0]?.xid ?? '0', id: '0' };
}

/**
 * Events stored after a position, in the order of storing. It reads only below the oldest transaction that is
 * still open: ids are given out before their transactions commit, so a plain "id greater than" misses rows.
 */
export async function eventsStoredAfter(
  db: Db,
  filter: EventFilter,
  position: StoredPosition,
  limit: number,
): Promise<FoundEvent[]> {
  return filteredEvents(db, filter)
    .where(sql<boolean>`(xid, id) > (${position.xid}::xid8, ${position.id}::bigint)`)
    .where(sql<boolean>`xid < pg_snapshot_xmin(pg_current_snapshot())`)
    .orderBy('xid')
    .orderBy('id')
    .limit(limit)
    .execute();
}

function filteredEvents(db: Db, filter: EventFilter) {
  let query = db.selectFrom('events').selectAll();
  if (filter.messageType !== undefined) query = query.where('message_type', '=', filter.messageType);
  if (filter.source !== undefined) query = query.where('source', '=', filter.source);
  if (filter.user !== undefined) query = query.where('user_name', '=', filter.user);
  if (filter.code !== undefined) query = query.where('code', '=', filter.code);
  const { mac, text } = filter;
  if (mac !== undefined) {
    query = query.where(sql<boolean>`(client_mac = ${mac}::macaddr or ap_mac = ${mac}::macaddr)`);
  }
  if (text !== undefined) {
    query = query.where(sql<boolean>`payload::text ilike ${`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`}`);
  }
  if (filter.since !== undefined) query = query.where('occurred_at', '>=', filter.since);
  if (filter.until !== undefined) query = query.where('occurred_at', '<', filter.until);
  return query;
}
