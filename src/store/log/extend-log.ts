/**
 * Gives each stored event its position in the log. The positions in use, and how far the log has come, are the one row of
 * `log_state`; the entries are in `log_tiles`.
 *
 * An event passes through these states:
 *
 * - Uncommitted: its transaction runs. Nothing is durable yet, and nobody may pass it over: the horizon is below it.
 *   - The transaction ends, and so does every one that began before it: unassigned.
 * - Unassigned: its row is committed, below the horizon (`horizon.ts`), with `xid` at or above `next_xid`. It has no position.
 *   - `assignPositions` finds an event that was received before it and has waited, or waits itself no longer: assigned.
 *   - It may have to wait for those that were received before it: held.
 * - Held: also unassigned, but seen before: `xid` is below `held_xid`, and it was received after `last_received`.
 *   - `holdMs` have passed since `held_since`, or there is too much to hold: assigned.
 * - Assigned: it has an entry in a tile, at `next_position` of then. That is final: the state row and the tiles change in one
 *   transaction, under a lock of that row, so that each event gets exactly one position whatever process fails when.
 *
 * The database itself is on one of two servers:
 *
 * - Its own (`log_state.server`): transaction ids count on from those in the state row.
 *   - It was moved, or restored from a dump: on another server.
 * - Another one: ids say nothing about those of before. Nothing may be stored until all that is unassigned has its position and
 *   the state row has the ids of this server: on its own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type RawBuilder, type Selectable } from 'kysely';
import { FAMILIES } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import { unionAll } from '../server/condition.ts';
import type { Db, Trx } from '../server/database.ts';
import type { Tables } from '../server/schema/tables.ts';
import { firstRow, onlyRow, run } from '../server/statement.ts';
import { IS_ANYONE_STORING, readHorizon } from './horizon.ts';
import { beginEra } from '../counts/roll-up-arrivals.ts';

export const TILE_ENTRIES = 256;

/** About this many new events get their positions in one transaction, plus all of the last stored transaction. */
const NEW_STEP = 20_000;

export interface Extension {
  /** New events, which follow at the end. */
  readonly added: number;
  /** Transactions were storing at the start, or there are or may be further events: extend the log again. */
  readonly isMore: boolean;
  /** The database is on another server than before: it was moved, or restored from a dump. */
  readonly isNewServer: boolean;
}

interface State extends Pick<Selectable<Tables['log_state']>, 'held_xid' | 'last_id' | 'earlier_id'> {
  readonly next: string;
  readonly xid: string;
  /** As Postgres prints it, with every digit. */
  readonly last_received: string;
  readonly is_held: boolean;
  readonly is_new_server: boolean;
  readonly stored_to: string;
  readonly is_storing: boolean;
}

/** A sequence begins with its first value before that was given to anything. */
const LAST_ID = sql`case when is_called then last_value else 0 end`;

/** The highest id that an event may have. It changes before anything is stored; to read it costs next to nothing. */
export async function readLastId(db: Db): Promise<string> {
  const { last } = await onlyRow<{ last: string }>(db)`select ${LAST_ID}::text as last from events_id_seq`;
  return last;
}

/**
 * Gives the next positions to events that were stored since, in the order of their arrival. Undefined, with nothing done,
 * while another process does it.
 *
 * Each event gets one position: the state row is locked, and changes in the transaction that writes the tiles. Below the
 * horizon all events are visible, and none is stored there any more.
 *
 * Deliveries that arrive one after the other may be stored in another order. With `holdMs`, an event waits so long, from
 * when it was seen, for those that were received before it.
 */
export async function assignPositions(
  db: Db,
  holdMs = 0,
  stepEvents = NEW_STEP,
): Promise<Extension | undefined> {
  return db.transaction().execute(async (trx) => {
    const locked = await firstRow(trx)`select from log_state for update skip locked`;
    if (locked === undefined) return undefined;
    // With its own snapshot: that of the previous statement may be older than the row that it locked.
    const state = await onlyRow<State>(trx)`
      select next_position as next, next_xid::text as xid, held_xid::text,
        last_received::text, held_since > clock_timestamp() - make_interval(secs => ${holdMs} / 1000.0) as is_held,
        last_id, earlier_id,
        ${IS_NEW_SERVER} as is_new_server,
        (select ${LAST_ID} from events_id_seq) as stored_to,
        ${IS_ANYONE_STORING} as is_storing
      from log_state`;
    if (state.is_new_server) return takeFromOtherServer(trx, state);
    const { added, isMore } = await assignNew(trx, state, { mayHold: holdMs > 0, stepEvents });
    return { added, isMore, isNewServer: false };
  });
}

async function assignNew(
  trx: Trx,
  state: State,
  { mayHold, stepEvents }: { readonly mayHold: boolean; readonly stepEvents: number },
): Promise<Pick<Extension, 'added' | 'isMore'>> {
  // Ids say how many events there may be at most.
  const mayBeMany = Number(state.stored_to) - Number(state.last_id) > stepEvents;
  if (mayHold && state.is_held && !mayBeMany) return { added: 0, isMore: true };
  // Whoever was not storing before this has ended: its events are below.
  const { xid, isEarly } = await readHorizon(trx);
  const horizon = laterOf(xid, state.held_xid);
  const isNew = sql`${isNotTaken(state)} and xid < ${horizon}::xid8 and id > ${state.earlier_id}::bigint`;
  const last = mayBeMany ? await endOfStep(trx, isNew, stepEvents) : undefined;
  if (last !== undefined) {
    const next = String(BigInt(last) + 1n);
    // Below the held transactions, some events of those after this step are in the log already.
    const changes = sql`next_xid = ${next}::xid8, held_xid = greatest(held_xid, ${next}::xid8),
      last_received = case when ${next}::xid8 < held_xid then last_received else '-infinity' end`;
    return { added: await append(trx, state, sql`${isNew} and xid <= ${last}::xid8`, changes), isMore: true };
  }
  const { due, isHeld } = await findDue(trx, state, isNew, mayHold);
  const isDue = sql`${isNew} and received_at <= ${due}::timestamptz`;
  const changes = sql`
    next_xid = greatest(next_xid, ${isHeld ? state.held_xid : horizon}::xid8),
    held_xid = greatest(held_xid, ${horizon}::xid8), held_since = clock_timestamp(), last_received = ${due}`;
  return { added: await append(trx, state, isDue, changes), isMore: state.is_storing || isHeld || isEarly };
}

/** A horizon may be lower than an earlier one, which is still valid: what was held below that one is not passed over. */
const laterOf = (one: string, other: string) => (BigInt(one) > BigInt(other) ? one : other);

/** Of the transactions from `next_xid` on, the log has those events of the held ones that were received first. */
const isNotTaken = ({ xid, held_xid: heldXid, last_received: lastReceived }: State) => sql`
  xid >= ${xid}::xid8 and (xid >= ${heldXid}::xid8 or received_at > ${lastReceived}::timestamptz)`;

/**
 * When the last event was received that does not have to wait, and whether others do. Those that were seen before have
 * waited, and all that were received before one of them need not.
 */
async function findDue(
  trx: Trx,
  { held_xid: heldXid, last_received: lastReceived }: State,
  isNew: RawBuilder<unknown>,
  mayHold: boolean,
): Promise<{ readonly due: string; readonly isHeld: boolean }> {
  const parts = FAMILIES.map(
    (family) => sql`select xid, received_at from ${sql.table(TABLE_OF[family])} where ${isNew}`,
  );
  const hasWaited = mayHold ? sql`xid < ${heldXid}::xid8` : sql`true`;
  return onlyRow<{ due: string; isHeld: boolean }>(trx)`
    select due::text, coalesce(latest > due, false) as "isHeld" from (
      select greatest(${lastReceived}::timestamptz, max(received_at) filter (where ${hasWaited})) as due,
        max(received_at) as latest
      from (${unionAll(parts)}) as new
    ) as found`;
}

/** The transaction that stored the event with which a step is full; undefined if all events are fewer. */
async function endOfStep(trx: Trx, isNew: RawBuilder<unknown>, stepEvents: number) {
  const ends = FAMILIES.map(
    (family) => sql`(select xid from ${sql.table(TABLE_OF[family])} where ${isNew}
      order by xid limit 1 offset ${stepEvents})`,
  );
  const { xid } = await onlyRow<{ xid: string | null }>(trx)`
    select min(xid::text::numeric)::text as xid from (${unionAll(ends)}) as ends`;
  return xid ?? undefined;
}

/**
 * The transaction ids of another server say nothing about those of this one. What the log has not is what transactions
 * from `next_xid` on stored there, and what was stored here before this was noticed, which has higher ids than all
 * events in the log. From here on only ids above all of these count.
 */
async function takeFromOtherServer(trx: Trx, state: State): Promise<Extension> {
  // Waits until no transaction is storing, and keeps others from it until this one ends.
  await run(trx)`select stop_storing()`;
  const storedTo = await readLastId(trx);
  const isMissing = sql`id > ${state.earlier_id}::bigint and id <= ${storedTo}::bigint and (${isNotTaken(state)}
    or xid < pg_snapshot_xmax(pg_current_snapshot()) and id > ${state.last_id}::bigint)`;
  const changes = sql`server = (select system_identifier from pg_control_system())::text,
    next_xid = pg_snapshot_xmin(pg_current_snapshot()), held_xid = pg_snapshot_xmin(pg_current_snapshot()),
    last_received = '-infinity', earlier_id = ${storedTo}::bigint`;
  const added = await append(trx, state, isMissing, changes);
  await beginEra(trx);
  return { added, isMore: true, isNewServer: true };
}

const IS_NEW_SERVER = sql<boolean>`
  (server <> (select system_identifier from pg_control_system())::text
    or next_xid > pg_snapshot_xmax(pg_current_snapshot()))`;

/**
 * Resolves once the log continues on the server that the database is on now. Whoever stores waits for it: the deliveries of
 * this server must be distinguishable from those of another one.
 */
export async function adoptServer(db: Db): Promise<void> {
  for (;;) {
    const state = await db.selectFrom('log_state').select(IS_NEW_SERVER.as('is_new')).executeTakeFirst();
    if (state?.is_new !== true) return;
    // Undefined while another process does the same.
    if ((await assignPositions(db)) === undefined) await sleep(ATTEMPT_MS);
  }
}

const ATTEMPT_MS = 100;

/** Adds events at the end of the log, in the order of their arrival. */
async function append(trx: Trx, { next }: State, isTaken: RawBuilder<unknown>, changes: RawBuilder<unknown>) {
  const taken = FAMILIES.map(
    (family) => sql`select ${COLUMNS} from ${sql.table(TABLE_OF[family])} where ${isTaken}`,
  );
  const { added } = await onlyRow<{ added: number }>(trx)`
    with entries as materialized (
      select *, ${next}::bigint - 1 + row_number() over (order by received_at, delivery_id, place, id) as position
      from (${unionAll(taken)}) as taken
    ), ${write(next)}
    update log_state set next_position = next_position + (select count(*) from entries),
      last_id = greatest(last_id, (select max(id) from entries)), ${changes}
    returning (select count(*)::int from entries) as added`;
  return added;
}

const COLUMNS = sql`id, source, message_type, occurred_at, event_id, received_at, delivery_id, place`;

/** Writes entries as tiles. When a tile becomes full, the pieces that it had are replaced by one. */
const write = (start: string): RawBuilder<unknown> => sql`
  new_kinds as (
    insert into log_kinds (source, message_type)
    select distinct source, message_type from entries
    where not exists (select from log_kinds as known
      where known.source = entries.source and known.message_type = entries.message_type)
    returning kind, source, message_type
  ), known_kinds as (
    select kind, source, message_type from log_kinds union all select kind, source, message_type from new_kinds
  ), pieces as (
    delete from log_tiles
    where first >= ${start}::bigint / ${TILE_ENTRIES} * ${TILE_ENTRIES} and first < ${start}::bigint
      and (select max(position) + 1 from entries) / ${TILE_ENTRIES} > ${start}::bigint / ${TILE_ENTRIES}
    returning *
  ), placed as (
    select position, kind, occurred_at, event_id, received_at as received_from, received_at as received_to
    from entries join known_kinds using (source, message_type)
    union all
    select first + number - 1, one.kind, one.occurred_at, one.event_id, received_from, received_to
    from pieces, unnest(kinds, pieces.occurred_at, event_ids) with ordinality
      as one (kind, occurred_at, event_id, number)
  ), written as (
    insert into log_tiles
    select min(position), array_agg(kind order by position), array_agg(occurred_at order by position),
      array_agg(event_id order by position), min(received_from), max(received_to)
    from placed group by position / ${TILE_ENTRIES}
  )`;
