import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import { FAMILIES } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import type { Db, Trx } from './database.ts';
import { IS_ANYONE_STORING, readHorizon, stopStoring } from './horizon.ts';
import { beginEra } from './roll-up-arrivals.ts';

/** Entries of a full tile. */
export const TILE_ENTRIES = 256;

/** Events of before the log that get their positions in one step: whole tiles. */
export const OLD_STEP = 40 * TILE_ENTRIES;

/** About so many new events get their positions in one transaction, beside the whole of the last one stored. */
const NEW_STEP = 20_000;

/** What one transaction added to the log. */
export interface Extension {
  /** New events, which follow at the end. */
  readonly added: number;
  /** Events stored before there was a log, which precede its first one. */
  readonly addedOld: number;
  /** Transactions were storing at the start, or there are further events: extend the log again. */
  readonly isMore: boolean;
  /** The database is on another server than before: it was moved, or restored from a dump. */
  readonly isNewServer: boolean;
}

interface State {
  readonly first: string;
  readonly next: string;
  readonly xid: string;
  readonly held_xid: string;
  readonly last_received: string;
  readonly is_held: boolean;
  readonly last_id: string;
  readonly earlier_id: string;
  readonly is_new_server: boolean;
  readonly has_old: boolean;
  readonly stored_to: string;
  readonly is_storing: boolean;
}

/** A sequence begins with its first value before that was given to anything. */
const LAST_ID = sql`case when is_called then last_value else 0 end`;

/** The highest id that an event may have. It changes before anything is stored; to read it costs next to nothing. */
export async function readLastId(db: Db): Promise<string> {
  const { rows } = await sql<{ last: string }>`select ${LAST_ID}::text as last from events_id_seq`.execute(
    db,
  );
  return rows[0]?.last ?? '0';
}

/**
 * Gives the next positions to events that were stored since, in the order of their arrival, and a step of positions to
 * those of before the log. Undefined, with nothing done, while another process does it.
 *
 * Each event gets one position: the state row is locked, and changes in the transaction that writes the tiles. Below the
 * horizon all events are visible, and none is stored there any more.
 *
 * Deliveries that arrive one after the other may be stored in another order. With `holdMs`, an event waits so long, from
 * when it was seen, for those that were received before it.
 */
export async function extendLog(db: Db, holdMs = 0, stepEvents = NEW_STEP): Promise<Extension | undefined> {
  return db.transaction().execute(async (trx) => {
    const locked = await sql`select from log_state for update skip locked`.execute(trx);
    if (locked.rows.length === 0) return undefined;
    // With a snapshot of its own: that of the statement before may be older than the row that it locked.
    const { rows } = await sql<State>`
      select first_position as first, next_position as next, next_xid::text as xid, held_xid::text,
        last_received::text, held_since > clock_timestamp() - make_interval(secs => ${holdMs} / 1000.0) as is_held,
        last_id, earlier_id,
        ${IS_NEW_SERVER} as is_new_server,
        old_xid is not null as has_old, (select ${LAST_ID} from events_id_seq) as stored_to,
        ${IS_ANYONE_STORING} as is_storing
      from log_state`.execute(trx);
    const [state] = rows;
    if (state === undefined) throw new TypeError('the table log_state has no row');
    if (state.is_new_server) return takeFromOtherServer(trx, state);
    const { added, isMore } = await takeNew(trx, state, { mayHold: holdMs > 0, stepEvents });
    const addedOld = state.has_old ? await takeOld(trx, state) : 0;
    const hasOld = state.has_old && addedOld === OLD_STEP;
    return { added, addedOld, isMore: isMore || hasOld, isNewServer: false };
  });
}

async function takeNew(
  trx: Trx,
  state: State,
  { mayHold, stepEvents }: { readonly mayHold: boolean; readonly stepEvents: number },
): Promise<Pick<Extension, 'added' | 'isMore'>> {
  // Ids say how many events there may be at most.
  const mayBeMany = Number(state.stored_to) - Number(state.last_id) > stepEvents;
  if (mayHold && state.is_held && !mayBeMany) return { added: 0, isMore: true };
  // Whoever was not storing before this has ended: its events are below.
  const horizon = laterOf(await readHorizon(trx), state.held_xid);
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
  return { added: await append(trx, state, isDue, changes), isMore: state.is_storing || isHeld };
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
  const { rows } = await sql<{ due: string; isHeld: boolean }>`
    select due::text, coalesce(latest > due, false) as "isHeld" from (
      select greatest(${lastReceived}::timestamptz, max(received_at) filter (where ${hasWaited})) as due,
        max(received_at) as latest
      from (${sql.join(parts, sql` union all `)}) as new
    ) as found`.execute(trx);
  return rows[0] ?? { due: lastReceived, isHeld: false };
}

/** The transaction that stored the event with which a step is full; undefined if all events are fewer. */
async function endOfStep(
  trx: Trx,
  isNew: RawBuilder<unknown>,
  stepEvents: number,
): Promise<string | undefined> {
  const ends = FAMILIES.map(
    (family) => sql`(select xid from ${sql.table(TABLE_OF[family])} where ${isNew}
      order by xid, id limit 1 offset ${stepEvents})`,
  );
  const { rows } = await sql<{ xid: string | null }>`
    select min(xid::text::numeric)::text as xid from (${sql.join(ends, sql` union all `)}) as ends`.execute(
    trx,
  );
  return rows[0]?.xid ?? undefined;
}

/**
 * The transaction ids of another server say nothing about those of this one. What the log has not is what transactions
 * from `next_xid` on stored there, and what was stored here before this was noticed, which has higher ids than all
 * events in the log. From here on only ids above all of these count.
 */
async function takeFromOtherServer(trx: Trx, state: State): Promise<Extension> {
  await stopStoring(trx);
  const storedTo = await readLastId(trx);
  const isMissing = sql`id > ${state.earlier_id}::bigint and id <= ${storedTo}::bigint and (${isNotTaken(state)}
    or xid < pg_snapshot_xmax(pg_current_snapshot()) and id > ${state.last_id}::bigint)`;
  const changes = sql`server = (select system_identifier from pg_control_system())::text,
    next_xid = pg_snapshot_xmin(pg_current_snapshot()), held_xid = pg_snapshot_xmin(pg_current_snapshot()),
    last_received = '-infinity', earlier_id = ${storedTo}::bigint`;
  const added = await append(trx, state, isMissing, changes);
  await beginEra(trx);
  return { added, addedOld: 0, isMore: true, isNewServer: true };
}

const IS_NEW_SERVER = sql<boolean>`
  (server <> (select system_identifier from pg_control_system())::text
    or next_xid > pg_snapshot_xmax(pg_current_snapshot()))`;

/**
 * Resolves once the log continues on the server that the database is on now. Whoever stores waits for it: the deliveries of
 * this server must be told from those of another one.
 */
export async function continueOnThisServer(db: Db): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ is_new: boolean }>`select ${IS_NEW_SERVER} as is_new from log_state`.execute(
      db,
    );
    if (rows[0]?.is_new !== true) return;
    // Undefined while another process does the same.
    if ((await extendLog(db)) === undefined) await sleep(ATTEMPT_MS);
  }
}

const ATTEMPT_MS = 100;

/** Adds events at the end of the log, in the order of their arrival. */
async function append(
  trx: Trx,
  { next }: State,
  isTaken: RawBuilder<unknown>,
  changes: RawBuilder<unknown>,
): Promise<number> {
  const taken = FAMILIES.map(
    (family) => sql`select ${COLUMNS} from ${sql.table(TABLE_OF[family])} where ${isTaken}`,
  );
  const { rows } = await sql<{ added: number }>`
    with entries as materialized (
      select *, ${next}::bigint - 1 + row_number() over (order by received_at, delivery_id, place, id) as position
      from (${sql.join(taken, sql` union all `)}) as taken
    ), ${write(next)}
    update log_state set next_position = next_position + (select count(*) from entries),
      last_id = greatest(last_id, (select max(id) from entries)), ${changes}
    returning (select count(*)::int from entries) as added`.execute(trx);
  return rows[0]?.added ?? 0;
}

/**
 * Adds events of before the log in front of it, latest first, so that a cursor near the end is usable at once. Cursors
 * that the step passes get their position.
 */
async function takeOld(trx: Trx, { first }: State): Promise<number> {
  const taken = FAMILIES.map(
    (family) => sql`(select ${COLUMNS}, xid from ${sql.table(TABLE_OF[family])}
      where (xid, id) <= ((select old_xid from log_state), (select old_id from log_state))
        and id <= (select old_id_limit from log_state)
      order by xid desc, id desc limit ${OLD_STEP})`,
  );
  const { rows } = await sql<{ added: number }>`
    with entries as materialized (
      select *, ${first}::bigint - row_number() over (order by xid desc, id desc) as position
      from (${sql.join(taken, sql` union all `)}) as taken order by xid desc, id desc limit ${OLD_STEP}
    ), lowest as materialized (
      select xid, id, (select count(*) from entries) = ${OLD_STEP} as is_more from entries order by position limit 1
    ), ${write(first)}, converted as (
      update destinations set cursor_position = coalesce(
        (select max(position) + 1 from entries where (xid, id) <= (cursor_xid, cursor_id)),
        ${first}::bigint - (select count(*) from entries))
      where cursor_position is null
        and not exists (select from lowest where is_more and (cursor_xid, cursor_id) < (xid, id))
    )
    update log_state set first_position = first_position - (select count(*) from entries),
      old_xid = (select xid from lowest where is_more), old_id = (select id - 1 from lowest where is_more)
    returning (select count(*)::int from entries) as added`.execute(trx);
  return rows[0]?.added ?? 0;
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
