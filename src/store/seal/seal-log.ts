import { sql } from 'kysely';
import type { Db, Trx } from '../server/database.ts';
import { TIMELINE } from '../log/read-log.ts';
import { whileAlone } from '../server/locks.ts';
import type { Positions } from './sealed-rows.ts';
import { onlyRow, run } from '../server/statement.ts';

/** How much is sealed, and how much the log has. */
export interface SealState {
  /** Leaves of the tree, and those of the latest checkpoint. */
  readonly size: number;
  readonly signed: number;
  /** The sealed events: from this position on, up to and without the next one. */
  readonly sealed: Positions;
  /** The events in the log. */
  readonly logged: Positions;
  /** Of the server: see `TIMELINE`. */
  readonly timeline: string | null;
  /** There are rows that changed and whose new state is not sealed. */
  readonly queued: boolean;
  /** There are deliveries, or quarters of an hour, that are not sealed. */
  readonly deliveriesQueued: boolean;
  readonly quartersQueued: boolean;
}

export async function readSealState(db: Db): Promise<SealState> {
  return onlyRow<SealState>(db)`
    select size::float8, coalesce((select max(size) from log_checkpoints), 0)::float8 as signed,
      json_build_object('from', seal.first_position, 'to', seal.next_position) as sealed,
      json_build_object('from', log.first_position, 'to', log.next_position) as logged, ${TIMELINE} as timeline,
      exists (select from log_queue where kind <> 'quarter') as queued,
      exists (select from log_delivery_queue) as "deliveriesQueued",
      exists (select from log_queue where kind = 'quarter') as "quartersQueued"
    from log_seal_state as seal cross join log_state as log`;
}

/** More events than this that wait for their seal mean that storing needs the processor. */
const BUSY_EVENTS = 4_000;

export const isStoringBusy = ({ sealed, logged }: SealState) => logged.to - sealed.to > BUSY_EVENTS;

/** Runs work as the only process that seals. Undefined, with nothing done, while another one does. */
export async function whileSealing<T>(db: Db, work: (trx: Trx, state: SealState) => Promise<T>) {
  return whileAlone(db, sql`log_seal_state`, async (trx) => work(trx, await readSealState(trx)));
}

/** Hashes to append to a tile. */
export interface TilePiece {
  readonly level: number;
  readonly number: number;
  readonly hashes: Buffer;
}

/** New leaves, and the nodes that they add to the tree. */
export interface NewLeaves {
  readonly count: number;
  /** The consecutive events that they are of; undefined: they are of statements. */
  readonly positions: Positions | undefined;
  readonly version: number;
  /** Size of the tree before them. */
  readonly firstLeaf: number;
  readonly tiles: readonly TilePiece[];
  /** 16 bytes each, one after another. */
  readonly salts: Buffer;
}

/** Adds leaves to the tree, in the transaction of `whileSealing`. */
export async function addLeaves(trx: Trx, leaves: NewLeaves): Promise<void> {
  const { firstLeaf, count, positions, version, tiles, salts } = leaves;
  const kind = positions === undefined ? 'statement' : 'event';
  const firstPosition = positions?.from ?? null;
  // Consecutive ones share one row.
  const extended = await run(trx)`
    update log_seals set leaves = leaves + ${count}::bigint
    where first_leaf = (select max(first_leaf) from log_seals) and kind = ${kind} and version = ${version}::int
      and first_leaf + leaves = ${firstLeaf}::bigint
      and first_position + leaves is not distinct from ${firstPosition}::bigint`;
  if (extended === 0) {
    await run(trx)`
      insert into log_seals (first_leaf, leaves, kind, version, first_position)
      values (${firstLeaf}::bigint, ${count}::bigint, ${kind}, ${version}::int, ${firstPosition}::bigint)`;
  }
  await run(trx)`
    insert into log_hashes (level, number, hashes)
    select * from unnest(${tiles.map(({ level }) => level)}::int[], ${tiles.map(({ number }) => number)}::bigint[],
      ${tiles.map(({ hashes }) => hashes)}::bytea[])
    on conflict (level, number) do update set hashes = log_hashes.hashes || excluded.hashes`;
  await run(trx)`
    insert into log_salts (number, salts)
    select (${firstLeaf}::bigint + leaf) / 256,
      array_agg(substring(${salts}::bytea from leaf * 16 + 1 for 16) order by leaf)
    from generate_series(0, ${count}::int - 1) as leaf group by 1
    on conflict (number) do update set salts = log_salts.salts || excluded.salts`;
  await run(trx)`
    update log_seal_state set size = ${firstLeaf + count}::bigint,
      first_position = least(first_position, ${firstPosition}::bigint),
      next_position = greatest(next_position, ${positions?.to ?? null}::bigint)`;
}

/** Reads the hashes of a tile one after another: fewer than 256 if it is the last one of its level. */
export async function readTile(db: Db, level: number, number: number): Promise<Buffer> {
  const row = await db
    .selectFrom('log_hashes')
    .select('hashes')
    .where('level', '=', level)
    .where('number', '=', String(number))
    .executeTakeFirst();
  return row?.hashes ?? Buffer.alloc(0);
}

/** A signed head of the tree, and the key that verifies the signature. */
export type StoredCheckpoint = Awaited<ReturnType<typeof checkpointsAfter>>[number];

/** Stores a checkpoint. One of the same size stays. */
export async function addCheckpoint(trx: Trx, checkpoint: StoredCheckpoint): Promise<void> {
  const { size, madeAt, note, publicKey } = checkpoint;
  await trx
    .insertInto('log_checkpoints')
    .values({ size, made_at: madeAt, note, public_key: publicKey })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function latestCheckpoint(db: Db): Promise<StoredCheckpoint | undefined> {
  return selectCheckpoints(db).orderBy('log_checkpoints.size', 'desc').limit(1).executeTakeFirst();
}

/** Reads the last checkpoint that a leaf is not in. Undefined: there was none before it. */
export async function checkpointBefore(db: Db, leaf: number): Promise<StoredCheckpoint | undefined> {
  return selectCheckpoints(db)
    .where('size', '<=', String(leaf))
    .orderBy('log_checkpoints.size', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Reads the first `limit` checkpoints of trees larger than a size. */
export async function checkpointsAfter(db: Db, size: number, limit: number) {
  return selectCheckpoints(db)
    .where('size', '>', String(size))
    .orderBy('log_checkpoints.size')
    .limit(limit)
    .execute();
}

const selectCheckpoints = (db: Db) =>
  db
    .selectFrom('log_checkpoints')
    .select((eb) => [
      eb.cast<number>('size', 'float8').as('size'),
      'made_at as madeAt',
      'note',
      'public_key as publicKey',
    ]);
