import { sql } from 'kysely';
import { DatabaseError } from 'pg';
import { FAMILIES } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { Db } from '../server/database.ts';
import { kindOfRow, outcomeOfRow } from '../events/event-kinds.ts';
import { arrayLiteral } from '../events/insert-rows.ts';
import { deleteVersions, findVersions, type InventoryTable } from '../reconcile/inventory.ts';
import { uncountSeen } from '../counts/roll-up-seen.ts';
import { allRows, firstRow, run } from '../server/statement.ts';
import type { FingerprintKind } from '../server/schema/seal-tables.ts';

export interface ErasableEvent {
  readonly eventId: string;
  /** As Postgres prints it, with every digit. */
  readonly occurredAt: string;
  readonly receivedAt: Date;
  readonly table: string;
}

/** Finds stored events by id, with those that they supersede or that supersede them: both describe the same event. */
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
  const items = await db
    .selectFrom('quarantine')
    .select('quarantine_id as id')
    .where(
      sql<boolean>`(encoding is null and encode(content, 'escape') ~* ${pattern} or reason ~* ${pattern})`,
    )
    .orderBy('received_at')
    .execute();
  const entries = await db
    .selectFrom('operator_log')
    .select('id')
    .where(sql`concat_ws(' ', subject, details::text, result::text)`, '~*', pattern)
    .orderBy('id')
    .execute();
  const searches = await db
    .selectFrom('saved_searches')
    .select('id')
    .where(sql`concat_ws(' ', name, line)`, '~*', pattern)
    .orderBy('id')
    .execute();
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
  const rows = await db
    .selectFrom('destinations')
    .select('name')
    .where('cursor_position', '>', String(position))
    .orderBy('name')
    .execute();
  return rows.map(({ name }) => name);
}

/** A client whose data the cloud has deleted. */
export interface SuggestedErasure {
  readonly mac: string;
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
      await trx
        .deleteFrom('saved_searches')
        .where('id', '=', (eb) => eb.fn.any(eb.val([...searches])))
        .execute();
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

/** The fingerprint of a name, address or number that was erased: new records with it are refused. */
export interface ErasedFingerprint {
  readonly kind: FingerprintKind;
  /** How many words a name has; 1 of all others. */
  readonly words: number;
  /** Which key the digest was made with. */
  readonly keyId: string;
  readonly digest: Buffer;
}

/** A fingerprint, and the time before which the refused records occurred. */
export type StoredFingerprint = Awaited<ReturnType<typeof readFingerprints>>[number];

/** Reads the fingerprints of what was erased. */
export async function readFingerprints(db: Db) {
  return db
    .selectFrom('refused_records')
    .select(['kind', 'words', 'key_id as keyId', 'digest', 'until'])
    .orderBy('id')
    .execute();
}

/** Stores fingerprints: matching records of what has occurred until now are refused. */
export async function addFingerprints(db: Db, records: readonly ErasedFingerprint[]): Promise<void> {
  await run(db)`
    insert into refused_records (kind, words, key_id, digest)
    select kind, words, key_id, decode(digest, 'hex') from unnest(
      ${arrayLiteral(records.map(({ kind }) => kind))}::text[], ${arrayLiteral(records.map(({ words }) => words))}::int[],
      ${arrayLiteral(records.map(({ keyId }) => keyId))}::text[],
      ${arrayLiteral(records.map(({ digest }) => digest.toString('hex')))}::text[]) as one (kind, words, key_id, digest)`;
}
