import { termAllowsSource, type EventTerm } from '../../events/search-query.ts';
import { sql, type Selectable } from 'kysely';
import type { Db } from '../server/database.ts';
import { insertRejected, isOfScope, type RejectedEvent } from './rejected-events.ts';
import { ALL_SOURCES, type Scope } from '../server/scope.ts';
import { type Tables, type DestinationState } from '../server/schema/tables.ts';
import { TIMELINE } from '../log/read-log.ts';
import { allRows } from '../server/statement.ts';

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
  await db
    .insertInto('destinations')
    .values({ name, cursor_position: start })
    .onConflict((exists) => exists.doNothing())
    .execute();
}

/** Who forwards to a destination: an id that is new at each start of forwarding. */
export interface Holder {
  readonly name: string;
  readonly holder: string;
}

/**
 * Takes or renews the leases of destinations, for this many seconds of the database's clock. A destination is omitted while another
 * process has it: one process forwards to a destination, however many run.
 */
export async function takeLeases(db: Db, holders: readonly Holder[], seconds: number) {
  const names = holders.map(({ name }) => name);
  const rows = await allRows<Lease & { readonly name: string }>(db)`
    update destinations set lease_holder = taking.holder, lease_until = now() + make_interval(secs => ${seconds})
    from ${lockedInOrder(names)},
      unnest(${names}::text[], ${holders.map(({ holder }) => holder)}::uuid[]) as taking (name, holder)
    where destinations.name = locked.name and destinations.name = taking.name
      and (lease_holder is null or lease_holder = taking.holder or lease_until < now())
    returning destinations.name, state, cursor_position::float8 as position, generation::text,
      rejected_in_row as "rejectedInRow"`;
  return new Map(rows.map(({ name, ...lease }) => [name, lease]));
}

/** Two processes that lock rows in different orders would wait for each other. */
const lockedInOrder = (names: readonly string[]) =>
  sql`(select name from destinations where name = any(${names}::text[]) order by name for update) as locked`;

/** Releases the lease, so that another process can continue immediately. */
export async function releaseLease(db: Db, { name, holder }: Holder): Promise<void> {
  await db
    .updateTable('destinations')
    .set({ lease_holder: null, lease_until: null })
    .where('name', '=', name)
    .where('lease_holder', '=', holder)
    .execute();
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

export interface LeasedProgress extends Progress, Holder {
  readonly generation: string;
  /** Where the cursor was when this was read. */
  readonly start: number;
  /** The timeline of the server from which this was read. */
  readonly timeline: string | null;
}

/** The state of a destination after a checkpoint. Somebody may have paused or resumed it meanwhile. */
export type Checkpoint = Pick<Lease, 'state' | 'rejectedInRow'>;

/**
 * Moves the cursors of destinations past the events that were sent and records the rejected ones: all of it or nothing. A
 * destination is left out, with nothing written of it, if the lease was lost, somebody moved the cursor, or a standby took
 * over: it may have an earlier one, and other events at these positions.
 */
export async function checkpoint(db: Db, progress: readonly LeasedProgress[]) {
  if (progress.every(({ rejected }) => rejected.length === 0)) return advance(db, progress);
  return db.transaction().execute(async (trx) => {
    const saved = await advance(trx, progress);
    for (const { name, rejected } of progress) {
      if (!saved.has(name)) continue;
      for (const event of rejected) await insertRejected(trx, name, event);
    }
    return saved;
  });
}

async function advance(db: Db, progress: readonly LeasedProgress[]) {
  const names = progress.map(({ name }) => name);
  const rows = await allRows<Checkpoint & { readonly name: string }>(db)`
    update destinations set
      cursor_position = made.position, sent_count = sent_count + made.sent,
      last_sent_at = case when made.sent > 0 then now() else last_sent_at end,
      rejected_in_row = made.rejected_in_row + case when made.sent > 0 then 0 else destinations.rejected_in_row end,
      last_error = case when made.error is not null then made.error when made.sent > 0 then null else last_error end,
      last_error_at = case when made.error is not null then now() else last_error_at end
    from ${lockedInOrder(names)}, unnest(
      ${names}::text[], ${progress.map(({ holder }) => holder)}::uuid[], ${progress.map(({ generation }) => generation)}::bigint[],
      ${progress.map(({ start }) => start)}::bigint[], ${progress.map(({ position }) => position)}::bigint[], ${progress.map(({ sent }) => sent)}::bigint[],
      ${progress.map(({ rejectedInRow }) => rejectedInRow)}::int[], ${progress.map(errorOf)}::text[],
      ${progress.map(({ timeline }) => timeline)}::text[]
    ) as made (name, holder, generation, start, position, sent, rejected_in_row, error, timeline)
    where destinations.name = locked.name and destinations.name = made.name
      and lease_holder = made.holder and destinations.generation = made.generation and cursor_position = made.start
      and made.timeline = ${TIMELINE}
    returning destinations.name, state, destinations.rejected_in_row as "rejectedInRow"`;
  return new Map(rows.map(({ name, ...saved }) => [name, saved]));
}

function errorOf({ rejected, rejectedInRow }: Progress): string | null {
  const last = rejectedInRow > 0 ? rejected.at(-1) : undefined;
  return last === undefined ? null : `rejected an event: ${last.reason}`;
}

export async function recordFailure(
  db: Db,
  { name, holder }: Holder,
  error: string,
  state: 'running' | 'refused',
): Promise<void> {
  await db
    .updateTable('destinations')
    .set({
      last_error: error,
      last_error_at: sql`now()`,
      state: sql`case when state = 'running' then ${state} else state end`,
    })
    .where('name', '=', name)
    .where('lease_holder', '=', holder)
    .execute();
}

/** Pauses or resumes a destination, and resets its count of rejected events. False if it does not exist. */
export async function setState(db: Db, name: string, state: 'running' | 'paused'): Promise<boolean> {
  const { numUpdatedRows: changed } = await db
    .updateTable('destinations')
    .set({ state, ...(state === 'running' && { rejected_in_row: 0 }) })
    .where('name', '=', name)
    .executeTakeFirst();
  return changed === 1n;
}

/** Moves the cursor of a destination, also while a process forwards. False when it does not exist. */
export async function moveCursor(db: Db, name: string, position: number): Promise<boolean> {
  const { numUpdatedRows: moved } = await db
    .updateTable('destinations')
    .set({ cursor_position: position, generation: sql`generation + 1` })
    .where('name', '=', name)
    .executeTakeFirst();
  return moved === 1n;
}

/** Deletes a destination and its rejected events. False when it does not exist. */
export async function forgetDestination(db: Db, name: string): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await trx.deleteFrom('rejected_events').where('destination', '=', name).execute();
    const deleted = await trx.deleteFrom('destinations').where('name', '=', name).executeTakeFirst();
    return deleted.numDeletedRows === 1n;
  });
}

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
  return allRows<DestinationStatus>(db)`
    select destinations.*, greatest(next_position - place, 0)::float8 as behind_count, oldest.received_at as behind_since,
      ${countOpen(ALL_SOURCES)} as rejected_count
    from log_state cross join destinations
    cross join lateral (select greatest(cursor_position, first_position) as place) as cursors
    left join lateral (
      -- Retention may have dropped the event.
      select coalesce((select received_at from events
        where events.event_id = event_ids[place - first + 1]
          and events.occurred_at = log_tiles.occurred_at[place - first + 1]), received_from) as received_at
      from log_tiles where place < next_position and first <= place and first > place - 256
      order by first desc limit 1
    ) as oldest on true
    order by name`;
}

/** Where the forwarder of a destination is. `holder` is that of the lease, which may have ended; null when it is free. */
export type Cursor = Awaited<ReturnType<typeof readCursors>>[number];

/** Reads the cursors of all destinations, without a transaction id, as renewing the lease of each would take. */
export async function readCursors(db: Db) {
  return db
    .selectFrom('destinations')
    .select(['name', 'lease_holder as holder', 'state', 'generation', 'rejected_in_row as rejectedInRow'])
    .select((row) => row.cast<number>('cursor_position', 'float8').as('position'))
    .execute();
}

/** The destinations whose cursor has not passed all events of a table or partition; all, while one is not in the log. */
export async function destinationsBehind(db: Db, table: string) {
  return allRows<Pick<DestinationStatus, 'name' | 'state'>>(db)`
    with events_of as (
      select min(occurred_at) as earliest, max(occurred_at) as latest from ${sql.id(table)}
    ), unlogged as (
      select from ${sql.id(table)}, log_state where xid >= next_xid and id > earlier_id
    )
    select name, state from destinations
    where exists (select from unlogged) or exists (
      select from events_of, log_tiles, unnest(occurred_at) with ordinality as entry (at, number)
      where at between earliest and latest and first > cursor_position - 256 and first + number - 1 >= cursor_position)
    order by name`;
}

export interface ConfiguredDestination {
  readonly name: string;
  readonly type: string;
  readonly formatName: string;
  readonly origin: 'settings' | 'database';
  readonly filter?: { readonly terms: readonly EventTerm[] };
}

/** Whether a destination can get an event of these sources. One without settings may have had any filter. */
export const isDestinationOf = (scope: Scope, configured: ConfiguredDestination | undefined): boolean =>
  scope === ALL_SOURCES || (configured !== undefined && canMatch(scope, configured.filter?.terms ?? []));

/** Whether an event of these sources can match all of these terms. */
export const canMatch = (scope: Scope, terms: readonly EventTerm[]): boolean =>
  scope === ALL_SOURCES || scope.some((source) => terms.every((term) => termAllowsSource(term, source)));

/**
 * Settings and state of a destination. A field is null if it is unknown: not started, or not configured. A destination
 * forwards the events of all sources, so a reader of some sources gets null for what depends on the others: backlog,
 * counts, times and errors.
 */
export type DescribedDestination = ReturnType<typeof describe>;

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
  return [...names]
    .filter((name) =>
      isDestinationOf(
        scope,
        configured.find((one) => one.name === name),
      ),
    )
    .toSorted()
    .map((name) => describe(name, configured, stored.get(name)));
}

type KnownStatus = Pick<DestinationStatus, 'name' | 'state' | 'rejected_count'> & Partial<DestinationStatus>;

/** The rejected events of the scope that were not sent again, of a row of `destinations`. */
const countOpen = (scope: Scope) => sql<number>`(
  select count(*)::int from rejected_events
  where destination = destinations.name and replayed_at is null and ${isOfScope(scope)})`;

async function listStates(db: Db, scope: Scope): Promise<KnownStatus[]> {
  return db
    .selectFrom('destinations')
    .select(['name', 'state', countOpen(scope).as('rejected_count')])
    .orderBy('name')
    .execute();
}

function describe(name: string, configured: readonly ConfiguredDestination[], status?: KnownStatus) {
  const destination = configured.find((one) => one.name === name);
  return {
    name,
    type: destination?.type ?? null,
    format: destination?.formatName ?? null,
    origin: destination?.origin ?? null,
    state: destination === undefined ? 'not configured' : (status?.state ?? 'not started'),
    behind: status?.behind_count ?? null,
    behind_since: status?.behind_since ?? null,
    sent: status?.sent_count ?? null,
    last_sent_at: status?.last_sent_at ?? null,
    rejected: status?.rejected_count ?? null,
    last_error: status?.last_error ?? null,
    last_error_at: status?.last_error_at ?? null,
  } as const;
}
