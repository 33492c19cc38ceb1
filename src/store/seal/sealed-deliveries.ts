import { sql, type RawBuilder } from 'kysely';
import { z } from 'zod';
import type { Db, Trx } from '../server/database.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import { wasReceived, type StrayEvent } from './read-seals.ts';
import { DELIVERIES_OF_TILE, IS_NOT_COUNTED } from '../counts/roll-up-arrivals.ts';
import { rowByKey } from '../server/condition.ts';
import { inScope, type Scope } from '../server/scope.ts';
import { allRows, onlyRow } from '../server/statement.ts';
import type { Statement } from './statements.ts';

/**
 * The columns of the sealed form: those of version 1, then what each later version added. A list that was released never
 * changes. Not among them: `xid` and `era`, which belong to the server.
 */
const COLUMNS = [
  `delivery_id source message_type sent_type received_at origin secret_form body_bytes record_count
  expected_count event_count duplicate_count quarantined_count refused_count`.split(/\s+/),
  ['stored_at'],
];

/** The version by which deliveries are sealed from now on. Those of before are compared by theirs. */
const DELIVERIES_VERSION = COLUMNS.length;

/** The hash of a delivery by a version: SHA-256 of its columns as a JSON array. Null if the row is gone. */
const hashOf = (version: number): RawBuilder<string | null> => sql<string | null>`
  case when row.delivery_id is not null then encode(sha256(convert_to(json_build_array(${sql.join(
    COLUMNS.slice(0, version)
      .flat()
      .map((column) => sql.ref(`row.${column}`)),
  )})::text, 'UTF8')), 'hex') end`;

/** The hash by the version of a row `one`. */
const HASH_BY_VERSION = sql`case one.version ${sql.join(
  COLUMNS.map((_, index) => sql`when ${sql.lit(index + 1)} then ${hashOf(index + 1)}`),
  sql` `,
)} end`;

/** The delivery of a row `one`. */
const OF_ONE = rowByKey('deliveries', sql`delivery_id = one.delivery_id and received_at = one.received_at`);

/**
 * Takes up to `limit` entries off the queue, and joins small ones to tiles. A tile is a JSON array: kind, version, key, and of
 * the deliveries the ids, when they were received, and the hashes. Call `planByKeys` before.
 */
export async function takeDeliveries(trx: Trx, limit: number): Promise<readonly Statement[]> {
  return allRows<Statement>(trx)`
    with taken as materialized (
      delete from log_delivery_queue where id in (select id from log_delivery_queue order by id limit ${limit})
      returning *
    ), placed as (
      select id, one.delivery_id, one.received_at, number,
        (row_number() over (order by id, number) - 1) / ${DELIVERIES_OF_TILE} as tile
      from taken, unnest(delivery_ids, taken.received_at) with ordinality as one (delivery_id, received_at, number))
    select 'deliveries' as kind, min(id)::text as key,
      json_build_array('deliveries'::text, ${sql.lit(DELIVERIES_VERSION)}::int, min(id),
        json_agg(one.delivery_id order by id, number), json_agg(one.received_at order by id, number),
        json_agg(${hashOf(DELIVERIES_VERSION)} order by id, number))::text as record
    from placed as one
      left join ${OF_ONE} as row on true
    group by tile order by tile`;
}

const Tile = z.tuple([
  z.literal('deliveries'),
  z.int().min(1).max(DELIVERIES_VERSION),
  z.number(),
  z.array(z.uuid()),
  z.array(z.string()),
  z.array(z.string().nullable()),
]);

export interface DifferentDelivery {
  /** The number of its tile among those compared. */
  readonly tile: number;
  readonly deliveryId: string;
  readonly receivedAt: Date;
  /** Null: the row is gone. */
  readonly source: string | null;
}

export interface DeliveryFilter extends TimeRange {
  readonly source?: string | undefined;
}

/**
 * Compares deliveries with the hashes of their tiles. Of one that differs, nobody knows what source it had. Call `planByKeys`
 * before.
 */
export async function compareDeliveries(
  trx: Trx,
  records: readonly string[],
  { since, until, source }: DeliveryFilter,
): Promise<{ readonly compared: number; readonly different: readonly DifferentDelivery[] }> {
  const isOwn = source === undefined ? sql`true` : sql`source = ${source}`;
  const tiles = records.map((record) => Tile.parse(JSON.parse(record)));
  const rows = await allRows<DifferentDelivery & { compared: number }>(trx)`
    with compared as materialized (
      select one.tile, one.delivery_id, one.received_at, row.source, one.hash, ${HASH_BY_VERSION} as found
      from unnest(${tiles.flatMap(([, , , ids], tile) => ids.map(() => tile))}::int[],
          ${tiles.flatMap(([, version, , ids]) => ids.map(() => version))}::int[],
          ${tiles.flatMap(([, , , ids]) => ids)}::uuid[], ${tiles.flatMap(([, , , , times]) => times)}::timestamptz[],
          ${tiles.flatMap(([, , , , , hashes]) => hashes)}::text[]) as one (tile, version, delivery_id, received_at, hash)
        left join ${OF_ONE} as row on true
      where one.received_at >= ${since ?? '-infinity'}::timestamptz and one.received_at < ${until ?? 'infinity'}::timestamptz
    )
    select (select count(*)::int from compared where ${isOwn} or found is distinct from hash) as compared, tile, delivery_id as "deliveryId",
      received_at as "receivedAt", source
    from compared right join (values (1)) as always (x) on found is null or found is distinct from hash`;
  const different = rows.filter(({ deliveryId }) => deliveryId !== null);
  return { compared: rows[0]?.compared ?? 0, different };
}

/** Finds deliveries that are in no tile, and that no roll-up will count: this program has not stored them. */
export async function findStrayDeliveries(db: Db, scope: Scope, range: TimeRange) {
  return allRows<Pick<StrayEvent, 'receivedAt' | 'source'> & { readonly deliveryId: string }>(db)`
    select delivery_id as "deliveryId", received_at as "receivedAt", source from deliveries
    where not coalesce(${IS_NOT_COUNTED}, false)
      and ${wasReceived(range)} and ${inScope(scope)}
      and not exists (
        select from (
          select jsonb_array_elements_text(record::jsonb -> 3)::uuid as id from log_statements where kind = 'deliveries'
          union all
          select unnest(delivery_ids) from log_delivery_queue
        ) as known where known.id = delivery_id)
    order by received_at`;
}

/** Counts deliveries that are not sealed yet. `since`: when the first of those was stored that no roll-up has counted. */
export async function countUnsealedDeliveries(db: Db) {
  return onlyRow<{ count: number; since: Date | null }>(db)`
    select ((select coalesce(sum(cardinality(delivery_ids)), 0) from log_delivery_queue) + count(*))::float8 as count,
      min(stored_at) as since
    from deliveries where ${IS_NOT_COUNTED}`;
}
