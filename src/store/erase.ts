import { sql } from 'kysely';
import { DatabaseError } from 'pg';
import { FAMILIES } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { kindOfRow, outcomeOfRow } from './event-kinds.ts';
import { arrayLiteral } from './insert-rows.ts';
import { deleteVersions, findVersions, type InventoryTable } from './inventory.ts';
import { uncountSeen } from './roll-up-seen.ts';
import { allRows, firstRow, run } from './statement.ts';

/** An event to erase. */
export interface ErasableEvent {
  readonly eventId: string;
  /** As Postgres prints it, with every digit. */
  readonly occurredAt: string;
  readonly receivedAt: Date;
  readonly table: string;
}

/** Finds stored events by id, with those that they supersede or that supersede them: both tell of the same. */
export async function findEventsById(db: Db, ids: readonly string[]): Promise<readonly ErasableEvent[]> {
  const wanted = arrayLiteral(ids);
  const rows = await allRows<{ id: string }>(db)`
    select distinct unnest(array[event_id, superseded_by])::text as id from superseded_events
    where event_id = any(${wanted}::uuid[]) or superseded_by = any(${wanted}::uuid[])`;
  const all = arrayLiteral([...new Set([...ids, ...rows.map(({ id }) => id)])]);
  return findEvents(db, sql`event_id = any(${all}::uuid[])`);
}

/** Finds stored events whose payload matches a pattern in any case. Reads all events. */
export async function findEventsByPattern(db: Db, pattern: string): Promise<readonly ErasableEvent[]> {
  return findEvents(db, sql`payload::text ~* ${pattern}`);
}

/** What else than events matches a pattern. */
export interface OtherTraces {
  /** Ids of quarantined items. */
  readonly quarantine: readonly string[];
  /** Ids of entries of the operator log. */
  readonly operations: readonly string[];
  /** Ids of saved searches. */
  readonly searches: readonly string[];
  /** Ids of versions in the tables of the inventory. */
  readonly inventory: Readonly<Record<InventoryTable, readonly string[]>>;
}

/** Nothing else matches. */
export const NO_TRACES: OtherTraces = {
  quarantine: [],
  operations: [],
  searches: [],
  inventory: { devices: [], locations: [], people: [] },
};

/**
 * Finds quarantined items, entries of the operator log, saved searches and versions of the inventory by a pattern. Compressed
 * content is not searched.
 */
export async function findOtherTraces(db: Db, pattern: string): Promise<OtherTraces> {
  const items = await allRows<{ id: string }>(db)`
    select quarantine_id::text as id from quarantine
    where encoding is null and encode(content, 'escape') ~* ${pattern} or reason ~* ${pattern} order by received_at`;
  const entries = await allRows<{ id: string }>(db)`
    select id::text from operator_log
    where concat_ws(' ', subject, details::text, result::text) ~* ${pattern} order by operator_log.id`;
  const searches = await allRows<{ id: string }>(db)`
    select id::text from saved_searches where concat_ws(' ', name, line) ~* ${pattern} order by saved_searches.id`;
  const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
  return {
    quarantine: idsOf(items),
    operations: idsOf(entries),
    searches: idsOf(searches),
    inventory: await findVersions(db, pattern),
  };
}

/** Names the destinations that have passed a position of the log. */
export async function destinationsPast(db: Db, position: number): Promise<readonly string[]> {
  const rows = await allRows<{ name: string }>(db)`
    select name from destinations where cursor_position > ${position}::bigint order by name`;
  return rows.map(({ name }) => name);
}

/** A client whose data the cloud has deleted. */
export interface SuggestedErasure {
  readonly mac: string;
  /** Events of the client. */
  readonly events: number;
  readonly deletedAt: Date;
}

/** Finds clients whose data the cloud says to have deleted, and of whom there are events. */
export async function suggestErasures(db: Db): Promise<readonly SuggestedErasure[]> {
  const ofClient = sql.join(
    [sql.ref('location_observations'), sql.ref('log_entries')].map(
      (table) => sql`(select count(*) from ${table} as row where row.client_mac = deleted.mac)`,
    ),
    sql` + `,
  );
  return allRows<SuggestedErasure>(db)`
    select mac::text, (${ofClient})::float8 as events, at as "deletedAt"
    from (
      select client_mac as mac, max(occurred_at) as at from log_entries
      where message_type = 'GDPR_LOG_ALL' and client_mac is not null
        and ${kindOfRow('log')} = 'gdprDeletion' and ${outcomeOfRow('log')} = 'success' group by 1
    ) as deleted order by at, mac`;
}

async function findEvents(db: Db, condition: ReturnType<typeof sql>): Promise<readonly ErasableEvent[]> {
  const found: ErasableEvent[] = [];
  for (const family of FAMILIES) {
    const table = TABLE_OF[family];
    const rows = await allRows<ErasableEvent>(db)`
      select event_id as "eventId", occurred_at::text as "occurredAt", received_at as "receivedAt", ${table}::text as table
      from ${sql.table(table)} where ${condition} order by occurred_at`;
    found.push(...rows);
  }
  return found;
}

/** Who erases, and why. Both are recorded and sealed: they must not name the person whose data is erased. */
export interface ErasureGrounds {
  readonly operator: string;
  readonly reason: string;
}

/** What to erase. */
export interface Erasable extends OtherTraces {
  readonly events: readonly ErasableEvent[];
}

/**
 * Deletes events, the content of quarantined items, what entries of the operator log say, saved searches, and versions of the
 * inventory, with their salts, every trace of their ids and what was counted of them, in one transaction. Returns the id of
 * the erasure. Undefined, with nothing deleted, if one of the events
 * is not sealed yet.
 */
export async function eraseRows(
  db: Db,
  { operator, reason }: ErasureGrounds,
  { events, quarantine, operations, searches, inventory }: Erasable,
): Promise<string | undefined> {
  const ids = arrayLiteral(events.map(({ eventId }) => eventId));
  const times = arrayLiteral(events.map(({ occurredAt }) => occurredAt));
  try {
    return await db.transaction().execute(async (trx) => {
      await uncountSeen(trx, events);
      await run(trx)`delete from saved_searches where id = any(${arrayLiteral(searches)}::bigint[])`;
      await deleteVersions(trx, inventory);
      const row = await firstRow<{ erasure: string }>(trx)`
        select erase_rows(${operator}, ${reason}, ${ids}::uuid[], ${times}::timestamptz[],
          ${arrayLiteral(quarantine)}::uuid[], ${arrayLiteral(operations)}::bigint[])::text as erasure`;
      return row?.erasure;
    });
  } catch (error) {
    if (error instanceof DatabaseError && error.code === NOT_SEALED) return undefined;
    throw error;
  }
}

/** `object_not_in_prerequisite_state`, which `erase_rows` raises. */
const NOT_SEALED = '55000';
