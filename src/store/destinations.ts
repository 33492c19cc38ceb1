import { sql, type Selectable } from 'kysely';
import type { Db } from './database.ts';
import { insertRejected, isOfScope, type RejectedEvent } from './rejected-events.ts';
import { ALL_SOURCES, type Scope } from './scope.ts';
import type { StoredPosition } from './stored-event.ts';
import type { DestinationState, Tables } from './tables.ts';

/** The state that forwarding starts from. */
export interface Lease {
  readonly state: DestinationState;
  readonly position: StoredPosition;
  /** A checkpoint is valid only while this is unchanged. */
  readonly generation: string;
}

/** Adds the row of a destination. An existing row keeps its position. */
export async function addDestination(db: Db, name: string, start: StoredPosition): Promise<void> {
  await sql`insert into destinations (name, cursor_xid, cursor_id)
    values (${name}, ${start.xid}::xid8, ${start.id}::bigint) on conflict do nothing`.execute(db);
}

/**
 * Takes or renews the lease of a destination, for so many seconds of the database's clock. Undefined while another
 * process has it: one process forwards, however many run.
 */
export async function takeLease(
  db: Db,
  name: string,
  holder: string,
  seconds: number,
): Promise<Lease | undefined> {
  const { rows } = await sql<{ state: DestinationState; xid: string; id: string; generation: string }>`
    update destinations set lease_holder = ${holder}::uuid, lease_until = now() + make_interval(secs => ${seconds})
    where name = ${name} and (lease_holder is null or lease_holder = ${holder}::uuid or lease_until < now())
    returning state, cursor_xid::text as xid, cursor_id::text as id, generation::text`.execute(db);
  const [row] = rows;
  return row && { state: row.state, position: { xid: row.xid, id: row.id }, generation: row.generation };
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

/**
 * Moves the cursor past the events that were sent and records the rejected ones, both or neither. False when
 * forwarding must stop: the destination was paused meanwhile, or, with nothing written, the lease was lost or somebody
 * moved the cursor.
 */
export async function checkpoint(
  db: Db,
  guard: CheckpointGuard,
  position: StoredPosition,
  sent: number,
  rejected: readonly RejectedEvent[],
): Promise<boolean> {
  if (rejected.length === 0) return (await advance(db, guard, position, sent)) === 'running';
  return db.transaction().execute(async (trx) => {
    const state = await advance(trx, guard, position, sent);
    if (state === undefined) return false;
    for (const event of rejected) await insertRejected(trx, guard.name, event);
    return state === 'running';
  });
}

async function advance(
  db: Db,
  { name, holder, generation }: CheckpointGuard,
  { xid, id }: StoredPosition,
  sent: number,
): Promise<DestinationState | undefined> {
  const { rows } = await sql<{ state: DestinationState }>`
    update destinations set
      cursor_xid = ${xid}::xid8, cursor_id = ${id}::bigint, sent_count = sent_count + ${sent}::bigint,
      last_sent_at = case when ${sent}::bigint > 0 then now() else last_sent_at end,
      last_error = case when ${sent}::bigint > 0 then null else last_error end
    where name = ${name} and lease_holder = ${holder}::uuid and generation = ${generation}::bigint
    returning state`.execute(db);
  return rows[0]?.state;
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

/** Pauses or resumes a destination. False when it does not exist. */
export async function setState(db: Db, name: string, state: 'running' | 'paused'): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('destinations')
    .set({ state })
    .where('name', '=', name)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Moves the cursor of a destination, also while a process forwards. False when it does not exist. */
export async function moveCursor(db: Db, name: string, position: StoredPosition): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update destinations set cursor_xid = ${position.xid}::xid8, cursor_id = ${position.id}::bigint,
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
  /** Stored events after the cursor, including those that the filter leaves out; counted up to a limit. */
  readonly behind_count: number;
  /** When the oldest of them was received; null when there is none. */
  readonly behind_since: Date | null;
  readonly rejected_count: number;
}

/** Counting further would cost as much as sending. */
export const MAX_BEHIND_COUNT = 100_000;

/**
 * All destinations ever started, by name, with their backlog of all sources, counted up to `most` + 1: for those who may
 * see all sources.
 */
export async function listDestinations(db: Db, most = MAX_BEHIND_COUNT): Promise<DestinationStatus[]> {
  const { rows } = await sql<DestinationStatus>`
    select destinations.*, cursor_xid::text as cursor_xid, behind.behind_count, behind.behind_since,
      (select count(*)::int from rejected_events
        where destination = destinations.name and replayed_at is null) as rejected_count
    from destinations cross join lateral (
      select count(*)::int as behind_count, min(received_at) as behind_since from (
        select received_at from events
        where (events.xid, events.id) > (cursor_xid, cursor_id)
        -- In order, so that no more is read than is counted, and the oldest is among it.
        order by events.xid, events.id limit ${most + 1}
      ) as passed
    ) as behind
    order by name`.execute(db);
  return rows;
}

/** The destinations whose cursor has not passed all events of a table or partition. */
export async function destinationsBehind(
  db: Db,
  table: string,
): Promise<{ readonly name: string; readonly state: DestinationState }[]> {
  const { rows } = await sql<{ name: string; state: DestinationState }>`
    select name, state from destinations
    where exists (select from ${sql.id(table)} as stored
      where (stored.xid, stored.id) > (cursor_xid, cursor_id))
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
  /** Whether counting ended at `behind`, so that it is a minimum. */
  readonly behind_is_least: boolean;
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
    behind: behind === undefined ? null : Math.min(behind, MAX_BEHIND_COUNT),
    behind_is_least: behind !== undefined && behind > MAX_BEHIND_COUNT,
    behind_since: status?.behind_since ?? null,
    sent: status?.sent_count ?? null,
    last_sent_at: status?.last_sent_at ?? null,
    rejected: status?.rejected_count ?? null,
    last_error: status?.last_error ?? null,
    last_error_at: status?.last_error_at ?? null,
  };
}
