import { sql } from 'kysely';
import { MESSAGE_TYPES } from '../domain.ts';
import { tableOf } from '../message-types.ts';
import type { CoverageFilter } from './coverage.ts';
import type { Db, Trx } from './database.ts';
import { addMonths, type PartitionedTable } from './partitioned-tables.ts';
import { inScope, isSource, type Scope } from './scope.ts';
import { allRows, run } from './statement.ts';

/**
 * Why events may be missing. `downtime`: no process accepted deliveries. `refused`: deliveries with a valid secret were
 * answered 429 or 503. `retention`: the events were deleted with their month.
 */
export const GAP_REASONS = [
  'downtime',
  'refused',
  'subscription off',
  'subscription changed',
  'silence',
  'retention',
] as const;

export type GapReason = (typeof GAP_REASONS)[number];

/** A time in which events may be missing. */
export interface Gap {
  /** Null: all sources. */
  readonly source: string | null;
  /** Null: all message types. */
  readonly message_type: string | null;
  readonly reason: GapReason;
  readonly began_at: Date;
  /** Null: the reason persists. */
  readonly ended_at: Date | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A process reports every 10 s; without a report for so long, no process accepted deliveries. */
const MISSED_SECONDS = 30;

/** A process accepts deliveries so many seconds after its start at the latest: before it needs the database. */
const START_SECONDS = 60;

/**
 * Notes that a process accepts deliveries, since `startedAt`. Records the downtime before it: the time since the last
 * report of any process, unless this one already ran then and only the database was unavailable.
 */
export async function noteReceiving(db: Db, startedAt: Date): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const rows = await allRows<{ since: Date }>(trx)`
      select receiving_at as since from heartbeat
      where receiving_at < ${startedAt} and receiving_at < now() - make_interval(secs => ${MISSED_SECONDS})
      for update`;
    for (const { since } of rows) {
      await run(trx)`
        insert into gaps (began_at, ended_at, reason)
        values (${since}, least(now(), ${startedAt}::timestamptz + make_interval(secs => ${START_SECONDS})), 'downtime')
      `;
    }
    await run(trx)`
      insert into heartbeat (receiving_at) values (now())
      on conflict (only_row) do update set receiving_at = greatest(heartbeat.receiving_at, now())`;
  });
}

/** Deliveries of one source and message type that were refused although their secret was valid. */
export interface RefusedDeliveries {
  readonly source: string;
  readonly messageType: string;
  readonly first: Date;
  readonly last: Date;
  readonly deliveries: number;
}

/** Records refused deliveries. Those within a quarter of an hour after others extend the gap of these. */
export async function recordRefused(db: Db, refused: readonly RefusedDeliveries[]): Promise<void> {
  for (const { source, messageType, first, last, deliveries } of refused) {
    await run(db)`
      with extended as (
        update gaps set ended_at = greatest(ended_at, ${last}),
          detail = jsonb_build_object('deliveries', (detail->>'deliveries')::bigint + ${deliveries})
        where reason = 'refused' and source = ${source} and message_type = ${messageType}
          and ended_at >= ${first}::timestamptz - interval '15 minutes' and began_at <= ${last}
        returning 1)
      insert into gaps (source, message_type, began_at, ended_at, reason, detail)
      select ${source}, ${messageType}, ${first}::timestamptz, ${last}::timestamptz, 'refused',
        jsonb_build_object('deliveries', ${deliveries}::bigint)
      where not exists (select from extended)`;
  }
}

/** A reason to doubt that persists. */
export interface Doubt {
  readonly source: string;
  readonly messageType: string;
  readonly reason: GapReason;
  /** Undefined: since the last delivery. */
  readonly since: Date | undefined;
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * Records the reasons of some kinds that persist at a time: begins a gap for each new one, and ends the gaps of the
 * others. With a source, only those of this source. A silence ends only with a delivery: a process that has just started
 * does not know that the silence is unusual. `onBegun` receives the new ones before they are committed: if it fails, they
 * are new the next time.
 */
export async function followGaps(
  db: Db,
  { reasons, source }: { readonly reasons: readonly GapReason[]; readonly source?: string },
  doubts: readonly Doubt[],
  at: Date,
  onBegun: (begun: readonly Doubt[]) => Promise<void> = async () => undefined,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const begun: Doubt[] = [];
    for (const doubt of doubts) {
      const { source, messageType, reason, since, detail } = doubt;
      const added = await run(trx)`
        insert into gaps (source, message_type, began_at, reason, detail)
        select ${source}, ${messageType}, least(${at}, coalesce(${since ?? null}, (
          select nullif(last_received_at, 'epoch') from arrival_totals
          where source = ${source} and message_type = ${messageType}), ${at})), ${reason},
          ${JSON.stringify(detail)}::jsonb
        on conflict (source, message_type, reason) where ended_at is null do nothing`;
      if (added === 1) begun.push(doubt);
    }
    const persisting = sql.join([
      sql`(null, null, null)`,
      ...doubts.map(({ source, messageType, reason }) => sql`(${source}, ${messageType}, ${reason})`),
    ]);
    await run(trx)`
      update gaps set ended_at = greatest(began_at, ${at})
      where ended_at is null and reason = any(${reasons}::text[])
        and ${isSource(source)}
        and not exists (
          select from (values ${persisting}) as persisting (source, message_type, reason)
          where (persisting.source, persisting.message_type, persisting.reason)
            = (gaps.source, gaps.message_type, gaps.reason))
        and (reason <> 'silence' or exists (
          select from arrival_totals as arrived
          where arrived.source = gaps.source and arrived.message_type = gaps.message_type
            and arrived.last_received_at > gaps.began_at))`;
    if (begun.length > 0) await onBegun(begun);
  });
}

/** Records that retention drops a partition of events, with the size and the root of the latest checkpoint. */
export async function recordDropped(trx: Trx, table: PartitionedTable, partition: string): Promise<void> {
  const month = new Date(`${partition.slice(-7).replace('_', '-')}-01T00:00:00Z`);
  const types = MESSAGE_TYPES.filter((type) => tableOf(type) === table.name);
  await run(trx)`
    insert into gaps (message_type, began_at, ended_at, reason, detail)
    select message_type, ${month}::timestamptz, ${addMonths(month, 1)}::timestamptz, 'retention', coalesce((
      select jsonb_build_object('tree_size', size, 'tree_root', split_part(note, E'\\n', 3))
      from log_checkpoints order by size desc limit 1), '{}')
    from unnest(${types}::text[]) as dropped (message_type)`;
}

/** A page shows no more. */
const MOST_GAPS = 500;

/** The gaps that overlap a range, newest first, at most 500. Those that concern all sources are in every scope. */
export async function listGaps(
  db: Db,
  scope: Scope,
  { since, until, source, messageTypes }: CoverageFilter,
): Promise<Gap[]> {
  return allRows<Gap>(db)`
    select source, message_type, reason, began_at, ended_at, detail
    from gaps
    where began_at < ${until} and (ended_at is null or ended_at > ${since})
      and (source is null or ${inScope(scope)})
      and (source is null or ${isSource(source)})
      and (message_type is null or ${messageTypes === undefined ? sql`true` : sql`message_type = any(${messageTypes}::text[])`})
    order by began_at desc, id desc limit ${MOST_GAPS}`;
}
