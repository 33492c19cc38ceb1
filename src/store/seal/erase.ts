import { sql, type RawBuilder } from 'kysely';
import { DatabaseError } from 'pg';
import { FAMILIES, type Family } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { Db } from '../server/database.ts';
import { kindOfRow, outcomeOfRow } from '../events/event-kinds.ts';
import { arrayLiteral } from '../events/insert-rows.ts';
import { deleteVersions } from '../reconcile/inventory.ts';
import { uncountSeen } from '../counts/roll-up-seen.ts';
import { allRows, firstRow, run } from '../server/statement.ts';
import { erasableColumns, type ErasableEvent, type OtherTraces } from './person-traces.ts';

/** Finds stored events by id, with those that they supersede or that supersede them: both describe the same event. */
export async function findEventsById(db: Db, ids: readonly string[]): Promise<readonly ErasableEvent[]> {
  const wanted = arrayLiteral(ids);
  const rows = await allRows<{ id: string }>(db)`
    select distinct unnest(array[event_id, superseded_by])::text as id from superseded_events
    where event_id = any(${wanted}::uuid[]) or superseded_by = any(${wanted}::uuid[])`;
  const all = arrayLiteral([...new Set([...ids, ...rows.map(({ id }) => id)])]);
  return eventsWhere(db, FAMILIES, sql`event_id = any(${all}::uuid[])`);
}

async function eventsWhere(db: Db, families: readonly Family[], condition: RawBuilder<unknown>) {
  const found: ErasableEvent[] = [];
  for (const family of families) {
    found.push(
      ...(await allRows<ErasableEvent>(db)`
        select ${erasableColumns(family)} from ${sql.table(TABLE_OF[family])} where ${condition} order by occurred_at`),
    );
  }
  return found;
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
export interface DeletedClient {
  readonly mac: string;
  /** The source that says so: an erasure is of its events alone. */
  readonly source: string;
  readonly deletedAt: Date;
}

/** The tables that name clients. A record of the deletion itself stays. */
const OF_CLIENTS = FAMILIES.filter((family) => family === 'location' || family === 'log');

/** An event was known when it was received at the latest, whatever time it claims. */
const KNOWN_AT = sql`least(occurred_at, received_at)`;

const isOfClient = (mac: RawBuilder<unknown>, source: RawBuilder<unknown>, before: RawBuilder<unknown>) =>
  sql`client_mac = ${mac} and source = ${source} and ${KNOWN_AT} < ${before} and message_type <> 'GDPR_LOG_ALL'`;

/** The last deletion of each client that the cloud of a source tells of, as a subquery. */
const deletedClients = sql`(
  select client_mac as mac, source, max(${KNOWN_AT}) as at from log_entries
  where message_type = 'GDPR_LOG_ALL' and client_mac is not null
    and ${kindOfRow('log')} = 'gdprDeletion' and ${outcomeOfRow('log')} = 'success' group by 1, 2)`;

export const listDeletedClients = (db: Db) =>
  allRows<DeletedClient>(db)`
    select mac::text, source, at as "deletedAt" from ${deletedClients} as deleted order by at, mac, source`;

/**
 * Finds clients whose data the cloud of a source says to have deleted, and of whom there are events of that source and of
 * before. An address that is an access point's of that source is no client's.
 */
export async function suggestErasures(db: Db) {
  const ofClient = sql.join(
    OF_CLIENTS.map(
      (family) => sql`(select count(*) from ${sql.table(TABLE_OF[family])}
        where ${isOfClient(sql`deleted.mac`, sql`deleted.source`, sql`deleted.at`)})`,
    ),
    sql` + `,
  );
  const isAccessPoint = sql.join(
    [...OF_CLIENTS.map((family) => TABLE_OF[family]), 'devices' as const].map(
      (table) => sql`exists (select from ${sql.table(table)} as one
        where one.${sql.ref(table === 'devices' ? 'mac' : 'ap_mac')} = deleted.mac
          and one.source = deleted.source)`,
    ),
    sql` or `,
  );
  return allRows<DeletedClient & { readonly events: number }>(db)`
    select * from (
      select mac::text, source, (${ofClient})::float8 as events, at as "deletedAt"
      from ${deletedClients} as deleted where not (${isAccessPoint})
    ) as suggested where events > 0 order by "deletedAt", mac, source`;
}

/** Finds the events of a client that a source has sent, by the column of its address. */
export const findClientEvents = (db: Db, mac: string, source: string, before: Date) =>
  eventsWhere(db, OF_CLIENTS, isOfClient(sql`${mac}::macaddr`, sql`${source}`, sql`${before}::timestamptz`));

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

/**
 * The fingerprint of a name, address or number that was erased: new records with it are refused. `words`: how many a name has
 * (1 of all others). `keyId`: which key the digest was made with. `sieve`: a hash of 32 bits, encrypted with the key, by which
 * nearly all other words are told apart at once.
 */
export type ErasedFingerprint = Omit<StoredFingerprint, 'until' | 'source'>;

/** A fingerprint, and the time before which the refused records occurred. */
export type StoredFingerprint = Awaited<ReturnType<typeof readFingerprints>>[number];

export async function readFingerprints(db: Db) {
  return db
    .selectFrom('refused_records')
    .select(['kind', 'words', 'key_id as keyId', 'digest', 'sieve', 'until', 'source'])
    .orderBy('id')
    .execute();
}

export interface ErasureScope {
  /** Only those of this source; undefined: of all. */
  readonly source?: string | undefined;
  /** Only of what occurred before; undefined: until now. */
  readonly before?: Date | undefined;
}

/** Stores fingerprints: matching records in the scope are refused. */
export async function addFingerprints(
  db: Db,
  records: readonly ErasedFingerprint[],
  { source, before }: ErasureScope = {},
): Promise<void> {
  await run(db)`
    insert into refused_records (kind, words, key_id, digest, sieve, source, until)
    select kind, words, key_id, decode(digest, 'hex'), sieve, ${source ?? null}, coalesce(${before ?? null}::timestamptz, now()) from unnest(
      ${arrayLiteral(records.map(({ kind }) => kind))}::text[], ${arrayLiteral(records.map(({ words }) => words))}::int[],
      ${arrayLiteral(records.map(({ keyId }) => keyId))}::text[],
      ${arrayLiteral(records.map(({ digest }) => digest.toString('hex')))}::text[],
      ${arrayLiteral(records.map(({ sieve }) => sieve))}::int[]) as one (kind, words, key_id, digest, sieve)`;
}

/** Makes the server recompute its planner statistics, which contain the most frequent values of a column. */
export async function renewStatistics(db: Db): Promise<void> {
  await run(db)`select renew_statistics()`;
}
