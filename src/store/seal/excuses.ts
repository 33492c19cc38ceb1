import { sql, type NotNull } from 'kysely';
import type { MessageType } from '../../events/domain.ts';
import { tableOf } from '../../events/message-types.ts';
import type { Db } from '../server/database.ts';
import { positionSince } from '../log/read-log.ts';
import type { StatementKind } from '../server/schema/seal-tables.ts';
import { DROPPED_BY_RETENTION } from '../archive/archived-files.ts';
import { allRows, onlyRow } from '../server/statement.ts';

/*
 * Why rows are gone, as the database says. Whoever deletes a row can write that down, too, so each reason counts only with what
 * goes along with it: it is sealed itself, and what it says to be gone is gone as a whole.
 */

/** A state of the row is sealed, or will be. */
const isSealed = (kind: StatementKind, key: ReturnType<typeof sql>) => sql<boolean>`
  (exists (select from log_statements where kind = ${kind} and key = ${key}::text)
    or exists (select from log_queue where kind = ${kind} and key = ${key}::text))`;

/** A month that retention dropped. */
export interface DroppedMonth {
  /** The id of its row in `gaps` (events), or of the entry of the operator log (deliveries). */
  readonly record: string;
  /** Null: all that is before the end. */
  readonly from: Date | null;
  readonly to: Date;
}

/** A month of events that retention dropped. */
export interface DroppedEvents extends DroppedMonth {
  readonly from: Date;
  readonly messageType: MessageType;
  /** Other events of the month are there, or other files of it, so that it was not dropped. */
  readonly isThere: boolean;
  /** Later positions of the log are of events that came after the month was dropped. */
  readonly before: number;
}

/** An event may be delivered this long after it was received, so that it comes into a month that was dropped meanwhile. */
const LATE = sql`interval '1 day'`;

/** Reads the months of events that retention has dropped. A record of another time than a month is none of retention. */
export async function readDroppedMonths(db: Db): Promise<readonly DroppedEvents[]> {
  const months = await db
    .selectFrom('gaps')
    .select(['id as record', 'message_type as messageType', 'began_at as from', 'ended_at as to'])
    .select('recorded_at as recordedAt')
    .where('reason', '=', 'retention')
    .where('message_type', 'is not', null)
    .where(
      sql<boolean>`began_at = date_trunc('month', began_at) and ended_at = began_at + interval '1 month'`,
    )
    .where(isSealed('gap', sql`gaps.id`))
    .orderBy('id')
    .$narrowType<{ messageType: MessageType; to: NotNull }>()
    .execute();
  return Promise.all(
    months.map(async ({ recordedAt, ...month }) => {
      const { messageType, from, to } = month;
      const found = await onlyRow<{ isThere: boolean; before: number }>(db)`
        select exists (
            select from ${sql.table(tableOf(messageType))}
            where occurred_at >= ${from} and occurred_at < ${to} and received_at < ${recordedAt}::timestamptz - ${LATE})
          or exists (
            select from archived_files as dropped join archived_files as other using (family_table, message_type)
            where message_type = ${messageType} and dropped.removed_because = ${DROPPED_BY_RETENTION}
              and dropped.first_at >= ${from} and dropped.first_at < ${to}
              and other.archived_at < dropped.removed_at and other.removed_at is null
              and other.first_at >= ${from} and other.first_at < ${to}) as "isThere",
          (select coalesce(max(first + cardinality(kinds)), 0)::float8 from log_tiles
            where received_from <= ${recordedAt}) as before`;
      return { ...month, ...found, ...(to > recordedAt && { before: await positionSince(db, recordedAt) }) };
    }),
  );
}

/** Reads the months of deliveries that retention has dropped, and of which nothing is there. */
export async function readDroppedDeliveries(db: Db): Promise<readonly DroppedMonth[]> {
  // The last partition of an adopted database may have all months up to its own.
  return allRows<DroppedMonth>(db)`
    select record, "from", "to" from (
      select id::text as record, began_at as dropped,
        case when subject ~ '^deliveries_\\d{4}_\\d\\d$' then month end as "from", month + interval '1 month' as "to"
      from operator_log, lateral (
        select (replace(right(subject, 7), '_', '-') || '-01T00:00:00Z')::timestamptz as month) as named
      where action = 'retention.drop' and outcome = 'done' and subject ~ '^deliveries_.*\\d{4}_(0[1-9]|1[0-2])$'
        and ${isSealed('operation', sql`operator_log.id`)}
    ) as months
    where not exists (
      select from deliveries
      where received_at >= coalesce("from", '-infinity') and received_at < "to" and stored_at < dropped)
    order by "to"`;
}

/** The month of these in which a delivery was received. */
export const monthOf = (receivedAt: Date, dropped: readonly DroppedMonth[]): DroppedMonth | undefined =>
  dropped.find(({ from, to }) => (from === null || from <= receivedAt) && receivedAt < to);

/** Consecutive leaves whose rows and salts an erasure deleted. */
export interface ErasedLeaves {
  readonly erasure: string;
  readonly operator: string;
  /** The operator log has the request, which counts for a day if its end is not known. If not, the function of the database was called by hand. */
  readonly isOnRecord: boolean;
  readonly from: number;
  readonly to: number;
}

/** Reads which leaves were erased, in their order. Erasures that nobody queued to be sealed count for nothing. */
export async function readErasedLeaves(db: Db): Promise<readonly ErasedLeaves[]> {
  return allRows<ErasedLeaves>(db)`
    select id::text as erasure, operator, lower(range)::float8 as from, upper(range)::float8 as to,
      exists (
        select from operator_log as request
        where action = 'events.erase'
          and erased_at between began_at and coalesce(ended_at, began_at + interval '1 day')
          and coalesce(request.result ->> 'erasure' = erasures.id::text, true)
          and ${isSealed('operation', sql`request.id`)}
      ) as "isOnRecord"
    from erasures, unnest(leaves) as range
    where ${isSealed('erasure', sql`erasures.id`)}
    order by range`;
}
