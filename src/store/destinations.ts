import { sql, type Selectable } from 'kysely';
import type { Db } from './database.ts';
import { insertRejected, isOfScope, type RejectedEvent } from './rejected-events.ts';
import { ALL_SOURCES, type Scope } from './scope.ts';
import type { DestinationState, Tables } from './tables.ts';

/** The state that forwarding starts from. */
export interface Lease {
  readonly state: DestinationState;
  /** Position in the log of the next event to send. */
  readonly position: number;
  /** A checkpoint is valid only while this is unchanged. */
  readonly generation: string;
  /** Events that the destination has rejected since it accepted one, or since an operator resumed. */
  readonly rejectedInRow: number;
}

/** Adds the row of a destination. An existing row keeps its position. */
export async function addDestination(db: Db, name: string, start: number): Promise<void> {
  await sql`insert into destinations (name, cursor_position)
    values (${name}, ${start}::bigint) on conflict do nothing`.execute(db);
}

/**
 * Takes or renews the lease of a destination, for so many seconds of the database's clock. Undefined while another
 * process has it: one process forwards, however many run. Undefined also until the log has reached a cursor of before.
 */
export async function takeLease(
  db: Db,
  name: string,
  holder: string,
  seconds: number,
): Promise<Lease | undefined> {
  const { rows } = await sql<Lease>`
    update destinations set lease_holder = ${holder}::uuid, lease_until = now() + make_interval(secs => ${seconds})
    where name = ${name} and (lease_holder is null or lease_holder = ${holder}::uuid or lease_until < now())
      and cursor_position is not null
    returning state, cursor_position::float8 as position, generation::text,
      rejected_in_row as "rejectedInRow"`.execute(db);
  return rows[0];
}

/** Releases the lease, so that another process can go on at once. */
export async function releaseLease(db: Db, name: string, holder: string): Promise<void> {
  await sql`update destinations set lease_holder = null, lease_until = null
    where name = ${name} and lease_holder = ${holder}::uuid`.execute(db);
}

/** The lease under which a checkpoint is written. */
export interface CheckpointGuard {
  readonly name: string;
  readonly holder: string;
  readonly generation: string;
}

/** What was done before a position of the cursor, since the checkpoint before. */
export interface Progress {
  readonly position: number;
  readonly sent: number;
  /** To be set aside. */
  readonly rejected: readonly RejectedEvent[];
  /** How many were rejected after the last one that was accepted, or all if none was. */
  readonly rejectedInRow: number;
}

/** The state of a destination after a checkpoint. Somebody may have paused or resumed it meanwhile. */
type Checkpoint = Pick<Lease, 'state' | 'rejectedInRow'>;

/**
 * Moves the cursor past the events that were sent and records the rejected ones, both or neither. Undefined, with
 * nothing written, if the lease was lost or somebody moved the cursor.
 */
export async function checkpoint(
  db: Db,
  guard: CheckpointGuard,
  progress: Progress,
): Promise<Checkpoint | undefined> {
  if (progress.rejected.length === 0) return advance(db, guard, progress);
  return db.transaction().execute(async (trx) => {
    const saved = await advance(trx, guard, progress);
    if (saved === undefined) return undefined;
    for (const event of progress.rejected) await insertRejected(trx, guard.name, event);
    return saved;
  });
}

async function advance(
  db: Db,
  { name, holder, generation }: CheckpointGuard,
  { position, sent, rejected, rejectedInRow }: Progress,
): Promise<Checkpoint | undefined> {
  const reason = rejectedInRow > 0 ? rejected.at(-1)?.reason : undefined;
  const error = reason === undefined ? null : `rejected an event: ${reason}`;
  const { rows } = await sql<Checkpoint>`
    update destinations set
      cursor_position = ${position}::bigint, sent_count = sent_count + ${sent}::bigint,
      last_sent_at = case when ${sent}::bigint > 0 then now() else last_sent_at end,
      rejected_in_row = ${rejectedInRow}::int + case when ${sent}::bigint > 0 then 0 else rejected_in_row end,
      last_error = case when ${error}::text is not null then ${error}
        when ${sent}::bigint > 0 then null else last_error end,
      last_error_at = case when ${error}::text is not null then now() else last_error_at end
    where name = ${name} and lease_holder = ${holder}::uuid and generation = ${generation}::bigint
    returning state, rejected_in_row as "rejectedInRow"`.execute(db);
  return rows[0];
}

/** Records why sending failed. */
export async function recordFailure(
  db: Db,
  name: string,
  holder: string,
  error: string,
  state: 'running' | 'refused',
): Promise<void> {
  await sql`update destinations set last_error = ${error}, last_error_at = now(),
      state = case when state = 'running' then ${state} else state end
    where name = ${name} and lease_holder = ${holder}::uuid`.execute(db);
}

/** Pauses or resumes a destination, which then begins to count its rejected events anew. False when it does not exist. */
export async function setState(db: Db, name: string, state: 'running' | 'paused'): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('destinations')
    .set(state === 'running' ? { state, rejected_in_row: 0 } : { state })
    .where('name', '=', name)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Moves the cursor of a destination, also while a process forwards. False when it does not exist. */
export async function moveCursor(db: Db, name: string, position: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update destinations set cursor_position = ${position}::bigint,
      generation = generation + 1
    where name = ${name}`.execute(db);
  return numAffectedRows === 1n;
}

/** Deletes a destination and its rejected events. False when it does not exist. */
export async function forgetDestination(db: Db, name: string): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await trx.deleteFrom('rejected_events').where('destination', '=', name).execute();
    const { numDeletedRows } = await trx
      .deleteFrom('destinations')
      .where('name', '=', name)
      .executeTakeFirst();
    return numDeletedRows === 1n;
  });
}

/** The present state of a destination. */
export interface DestinationStatus extends Selectable<Tables['destinations']> {
  /** Events in the log from the cursor on, including those that the filter leaves out. */
  readonly behind_count: number;
  /** When the oldest of them was received; null when there is none. */
  readonly behind_since: Date | null;
  readonly rejected_count: number;
}

/**
 * All destinations ever started, by name, with their backlog of all sources: for those who may see all sources. The backlog
 * is a difference of positions; of the log alone, so events that are not in it yet do not count.
 */
export async function listDestinations(db: Db): Promise<DestinationStatus[]> {
  const { rows } = await sql<DestinationStatus>`
    select destinations.*, cursor_xid::text as cursor_xid,
      greatest(next_position - place, 0)::float8 as behind_count, oldest.received_at as behind_since,
      (select count(*)::int from rejected_events
        where destination = destinations.name and replayed_at is null) as rejected_count
    from log_state cross join destinations
    cross join lateral (select greatest(coalesce(cursor_position, 0), first_position) as place) as cursors
    left join lateral (
      -- Retention may have dropped the event.
      select coalesce((select received_at from events
        where events.event_id = event_ids[place - first + 1]
          and events.occurred_at = log_tiles.occurred_at[place - first + 1]), received_from) as received_at
      from log_tiles where place < next_position and first <= place and first > place - 256
      order by first desc limit 1
    ) as oldest on true
    order by name`.execute(db);
  return rows;
}

/** Where the forwarders of all destinations are, for many that ask at once. */
export interface Cursor {
  readonly name: string;
  readonly state: DestinationState;
  /** Null until the log has reached a cursor of before. */
  readonly position: number | null;
}

/** Reads the cursors of all destinations, without a transaction id, as renewing the lease of each would take. */
export async function readCursors(db: Db): Promise<readonly Cursor[]> {
  const { rows } = await sql<Cursor>`
    select name, state, cursor_position::float8 as position from destinations`.execute(db);
  return rows;
}

/** The destinations whose cursor has not passed all events of a table or partition; all, while one is not in the log. */
export async function destinationsBehind(
  db: Db,
  table: string,
): Promise<{ readonly name: string; readonly state: DestinationState }[]> {
  const { rows } = await sql<{ name: string; state: DestinationState }>`
    with events_of as (
      select min(occurred_at) as earliest, max(occurred_at) as latest from ${sql.id(table)}
    ), unlogged as (
      select from ${sql.id(table)}, log_state where xid >= next_xid and id > earlier_id
      union all
      select from ${sql.id(table)}, log_state where (xid, id) <= (old_xid, old_id) and id <= old_id_limit
    )
    select name, state from destinations
    where exists (select from unlogged) or exists (
      select from events_of, log_tiles, unnest(occurred_at) with ordinality as entry (at, number)
      where at between earliest and latest and first > cursor_position - 256 and first + number - 1 >= cursor_position)
    order by name`.execute(db);
  return rows;
}

/** A destination in the settings. */
export interface ConfiguredDestination {
  readonly name: string;
  readonly type: string;
  readonly formatName: string;
}

/**
 * Settings and state of a destination. A field is null if it is unknown: not started, or not configured. A destination
 * forwards the events of all sources, so a reader of some sources gets null for what depends on the others: backlog,
 * counts, times and errors.
 */
export interface DescribedDestination {
  readonly name: string;
  readonly type: string | null;
  readonly format: string | null;
  readonly state: DestinationStatus['state'] | 'not configured' | 'not started';
  readonly behind: number | null;
  readonly behind_since: Date | null;
  readonly sent: string | null;
  readonly last_sent_at: Date | null;
  readonly rejected: number | null;
  readonly last_error: string | null;
  readonly last_error_at: Date | null;
}

/** The configured destinations and the removed ones that still have state, by name. */
export async function describeDestinations(
  db: Db,
  scope: Scope,
  configured: readonly ConfiguredDestination[],
): Promise<readonly DescribedDestination[]> {
  const statuses: readonly KnownStatus[] =
    scope === ALL_SOURCES ? await listDestinations(db) : await listStates(db, scope);
  const stored = new Map(statuses.map((status) => [status.name, status]));
  const names = new Set([...configured.map(({ name }) => name), ...stored.keys()]);
  return [...names].toSorted().map((name) => describe(name, configured, stored.get(name)));
}

type KnownStatus = Pick<DestinationStatus, 'name' | 'state' | 'rejected_count'> & Partial<DestinationStatus>;

/** The state of each destination, and its rejected events of the scope. */
async function listStates(db: Db, scope: Scope): Promise<KnownStatus[]> {
  const { rows } = await sql<KnownStatus>`
    select name, state, (select count(*)::int from rejected_events
      where destination = destinations.name and replayed_at is null and ${isOfScope(scope)}) as rejected_count
    from destinations order by name`.execute(db);
  return rows;
}

function describe(
  name: string,
  configured: readonly ConfiguredDestination[],
  status: KnownStatus | undefined,
): DescribedDestination {
  const destination = configured.find((one) => one.name === name);
  const behind = status?.behind_count;
  return {
    name,
    type: destination?.type ?? null,
    format: destination?.formatName ?? null,
    state: destination === undefined ? 'not configured' : (status?.state ?? 'not started'),
    behind: behind ?? null,
    behind_since: status?.behind_since ?? null,
    sent: status?.sent_count ?? null,
    last_sent_at: status?.last_sent_at ?? null,
    rejected: status?.rejected_count ?? null,
    last_error: status?.last_error ?? null,
    last_error_at: status?.last_error_at ?? null,
  };
}
