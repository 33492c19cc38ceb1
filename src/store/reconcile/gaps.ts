import { DAY_MS } from '../../lib/clock.ts';
import { sql, type Selectable } from 'kysely';
import { typesOfTable } from '../../events/message-types.ts';
import type { CoverageFilter } from './coverage.ts';
import type { Db, Trx } from '../server/database.ts';
import { addMonths, monthOf, type PartitionedTable } from '../partitions/partitioned-tables.ts';
import { inScope, isSource, type Scope } from '../server/scope.ts';
import type { Tables } from '../server/schema/tables.ts';
import { onlyRow, run } from '../server/statement.ts';
import type { GapReason } from '../server/schema/cloud-tables.ts';

const COLUMNS = ['source', 'message_type', 'reason', 'began_at', 'ended_at', 'detail'] as const;

/** A time in which events may be missing: of all sources or message types if null, until now if its end is null. */
export type MissingPeriod = Readonly<Pick<Selectable<Tables['gaps']>, (typeof COLUMNS)[number]>>;

/** A process reports every 10 s; without a report for so long, no process accepted deliveries. */
const MISSED_SECONDS = 30;

/** A process accepts deliveries at most this many seconds after its start: before it needs the database. */
const START_SECONDS = 60;

/**
 * Notes that a process accepts deliveries, since `startedAt`. Records the downtime before it: the time since the last
 * report of any process, unless this one already ran then and only the database was unavailable.
 */
export async function noteReceiving(trx: Trx, startedAt: Date): Promise<void> {
  const last = await trx
    .selectFrom('heartbeat')
    .select('receiving_at')
    .where('receiving_at', '<', startedAt)
    .where('receiving_at', '<', sql<Date>`now() - make_interval(secs => ${MISSED_SECONDS})`)
    .forUpdate()
    .executeTakeFirst();
  if (last !== undefined) {
    const ended_at = sql<Date>`least(now(), ${startedAt}::timestamptz + make_interval(secs => ${START_SECONDS}))`;
    await trx
      .insertInto('gaps')
      .values({ began_at: last.receiving_at, ended_at, reason: 'downtime' })
      .execute();
  }
  await trx
    .insertInto('heartbeat')
    .values({ receiving_at: sql`now()` })
    .onConflict((exists) =>
      exists.column('only_row').doUpdateSet({ receiving_at: sql`greatest(heartbeat.receiving_at, now())` }),
    )
    .execute();
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

/** A reason to suspect that deliveries were lost, found in this check. */
export interface SuspectedGap {
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
  suspected: readonly SuspectedGap[],
  at: Date,
  onBegun: (begun: readonly SuspectedGap[]) => Promise<void> = async () => undefined,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const begun: SuspectedGap[] = [];
    for (const gap of suspected) {
      const { source, messageType, reason, since, detail } = gap;
      const { numInsertedOrUpdatedRows: added } = await trx
        .insertInto('gaps')
        .values({
          source,
          message_type: messageType,
          began_at: sql`least(${at}::timestamptz, coalesce(${since ?? null}::timestamptz, (
            select nullif(last_received_at, 'epoch') from arrival_totals
            where source = ${source} and message_type = ${messageType}), ${at}))`,
          reason,
          detail: JSON.stringify(detail),
        })
        .onConflict((exists) =>
          exists.columns(['source', 'message_type', 'reason']).where('ended_at', 'is', null).doNothing(),
        )
        .executeTakeFirst();
      if (added === 1n) begun.push(gap);
    }
    const persisting = sql.join([
      sql`(null, null, null)`,
      ...suspected.map(({ source, messageType, reason }) => sql`(${source}, ${messageType}, ${reason})`),
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

/** What the gap of a dropped month with late events says. */
const LATE = { has_late: true };

/** Events received so long after the end of their month came late. */
const LATE_DAYS = 31;
export const LATE_AFTER = sql`make_interval(days => ${sql.lit(LATE_DAYS)})`;

/** Whether an event of a partition's month that was received at a time came late. */
export const isLate = (partition: string, receivedAt: Date) =>
  receivedAt.getTime() >= addMonths(monthOf(partition), 1).getTime() + LATE_DAYS * DAY_MS;

/** Whether a partition has events that came late. It may read them all. */
export async function hasLateEvents(db: Db, partition: string): Promise<boolean> {
  const { hasLate } = await onlyRow<{ hasLate: boolean }>(db)`
    select exists (
      select from ${sql.id(partition)} where received_at >= ${addMonths(monthOf(partition), 1)}::timestamptz + ${LATE_AFTER}
    ) as "hasLate"`;
  return hasLate;
}

/**
 * Records that retention drops a partition of events, with the size and the root of the latest checkpoint, and whether it has
 * events that came late, as those of an import do (`hasLateEvents`).
 */
export async function recordDropped(trx: Trx, table: PartitionedTable, partition: string, hasLate = false) {
  const month = monthOf(partition);
  const types = typesOfTable(table.name);
  await run(trx)`
    insert into gaps (message_type, began_at, ended_at, reason, detail)
    select message_type, ${month}::timestamptz, ${addMonths(month, 1)}::timestamptz, 'retention', coalesce((
      select jsonb_build_object('tree_size', size, 'tree_root', split_part(note, E'\\n', 3))
      from log_checkpoints order by size desc limit 1), '{}') || ${hasLate ? LATE : {}}::jsonb
    from unnest(${types}::text[]) as dropped (message_type)`;
}

const MOST_GAPS = 500;

/** The gaps that overlap a range, newest first, at most 500. Those that concern all sources are in every scope. */
export async function listGaps(db: Db, scope: Scope, { since, until, source, messageTypes }: CoverageFilter) {
  let query = db
    .selectFrom('gaps')
    .select(COLUMNS)
    .where('began_at', '<', until)
    .where((is) => is.or([is('ended_at', 'is', null), is('ended_at', '>', since)]))
    .where((is) => is.or([is('source', 'is', null), is.and([inScope(scope), isSource(source)])]))
    .orderBy('began_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MOST_GAPS);
  if (messageTypes !== undefined)
    query = query.where(sql<boolean>`(message_type is null or message_type = any(${messageTypes}::text[]))`);
  return query.execute();
}
