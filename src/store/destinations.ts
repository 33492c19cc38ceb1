import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import type { Db } from './database.ts';
import { insertRejected } from './rejected-events.ts';
import type { RejectedEvent } from './rejected-events.ts';
import type { StoredPosition } from './stored-event.ts';
import type { DestinationState, Tables } from './tables.ts';

/** What the sending process works from: where to go on, and whether. */
export interface Lease {
  readonly state: DestinationState;
  readonly position: StoredPosition;
  /** A checkpoint holds only while this is unchanged. */
  readonly generation: string;
}

/** Writes a destination down that is not yet; one that is keeps its place. */
export async function addDestination(db: Db, name: string, start: StoredPosition): Promise<void> {
  await sql`insert into destinations (name, cursor_xid, cursor_id)
    values (${name}, ${start.xid}::xid8, ${start.id}::bigint) on conflict do nothing`.execute(db);
}

/**
 * Takes the lease of a destination, or renews it, for so many seconds of the database's clock. Undefined while
 * another process has it: one sends, however many run.
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

/** Gives the lease back, so that another process goes on at once. */
export async function releaseLease(db: Db, name: string, holder: string): Promise<void> {
  await sql`update destinations set lease_holder = null, lease_until = null
    where name = ${name} and lease_holder = ${holder}::uuid`.execute(db);
}

/** Who writes a checkpoint, and of which move of the cursor. */
export interface CheckpointGuard {
  readonly name: string;
  readonly holder: string;
  readonly generation: string;
}

/**
 * Moves the cursor behind what was sent, and sets aside what was refused, both or neither. False when sending must
 * not go on: the destination was paused meanwhile, or, with nothing written, the lease is no longer ours or
 * somebody moved the cursor.
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

/** Remembers why sending failed. */
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

/** A person's decision. False when there is no such destination. */
export async function setState(db: Db, name: string, state: 'running' | 'paused'): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('destinations')
    .set({ state })
    .where('name', '=', name)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Moves the cursor of a destination, whoever sends to it. False when there is no such destination. */
export async function moveCursor(db: Db, name: string, position: StoredPosition): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update destinations set cursor_xid = ${position.xid}::xid8, cursor_id = ${position.id}::bigint,
      generation = generation + 1
    where name = ${name}`.execute(db);
  return numAffectedRows === 1n;
}

/** Removes a destination and what it has refused. False when there is no such destination. */
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

/** A destination as it is. */
export interface DestinationStatus extends Selectable<Tables['destinations']> {
  /** Stored events that it has not passed yet, those that its filter leaves out among them; counted up to a limit. */
  readonly behind_count: number;
  /** When the oldest of them was received; null when there is none. */
  readonly behind_since: Date | null;
  readonly rejected_count: number;
}

/** Counting on costs as much as sending, and nobody reads more digits. */
export const MAX_BEHIND_COUNT = 100_000;

/** All destinations that were ever set up, by name, with how far behind they are, counted to one more than `most`. */
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

/** The destinations that have not passed all events of a table or partition yet. */
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

/** What the settings say of a destination. */
export interface ConfiguredDestination {
  readonly name: string;
  readonly type: string;
  readonly formatName: string;
}

/** A destination as people see it; null where something is not known, since it has not started or is not configured. */
export interface DescribedDestination {
  readonly name: string;
  readonly type: string | null;
  readonly format: string | null;
  readonly state: DestinationStatus['state'] | 'not configured' | 'not started';
  readonly behind: number | null;
  /** Whether `behind` is only where counting ended. */
  readonly behind_is_least: boolean;
  readonly behind_since: Date | null;
  readonly sent: string | null;
  readonly last_sent_at: Date | null;
  readonly rejected: number | null;
  readonly last_error: string | null;
  readonly last_error_at: Date | null;
}

/** The destinations of the settings and those that once were, by name. */
export async function describeDestinations(
  db: Db,
  configured: readonly ConfiguredDestination[],
): Promise<readonly DescribedDestination[]> {
  const stored = new Map((await listDestinations(db)).map((status) => [status.name, status]));
  const names = new Set([...configured.map(({ name }) => name), ...stored.keys()]);
  return [...names].toSorted().map((name) => describe(name, configured, stored.get(name)));
}

function describe(
  name: string,
  configured: readonly ConfiguredDestination[],
  status: DestinationStatus | undefined,
): DescribedDestination {
  const destination = configured.find((one) => one.name === name);
  return {
    name,
    type: destination?.type ?? null,
    format: destination?.formatName ?? null,
    state: destination === undefined ? 'not configured' : (status?.state ?? 'not started'),
    behind: status === undefined ? null : Math.min(status.behind_count, MAX_BEHIND_COUNT),
    behind_is_least: status !== undefined && status.behind_count > MAX_BEHIND_COUNT,
    behind_since: status?.behind_since ?? null,
    sent: status?.sent_count ?? null,
    last_sent_at: status?.last_sent_at ?? null,
    rejected: status?.rejected_count ?? null,
    last_error: status?.last_error ?? null,
    last_error_at: status?.last_error_at ?? null,
  };
}
