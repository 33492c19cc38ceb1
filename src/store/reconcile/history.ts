import { sql } from 'kysely';
import type { MessageType, Origin } from '../../events/domain.ts';
import { isJsonObject, parseExactJson, type JsonObject } from '../../events/exact-json.ts';
import { tableOf } from '../../events/message-types.ts';
import { TimeSlice } from '../../lib/time-slice.ts';
import type { Db } from '../server/database.ts';
import type { EventPosition } from '../events/event-pages.ts';
import { arrayLiteral } from '../events/insert-rows.ts';
import { uncountSeen } from '../counts/roll-up-seen.ts';
import { NOT_SUPERSEDED } from '../server/condition.ts';
import { fittingRows } from '../server/fitting-rows.ts';
import { allRows, run } from '../server/statement.ts';

/** The events of one source and message type in a range of `occurred_at`, its end exclusive. */
export interface HistoryRange {
  readonly source: string;
  readonly messageType: MessageType;
  readonly from: Date;
  readonly to: Date;
}

/** A stored event that may be a record of the cloud's log. */
export interface HistoryRow extends EventPosition {
  readonly origin: Origin;
  /** The member `id`: of a fetched event, the id of its log record. */
  readonly recordId: string | null;
  /** Whether the log record is known. */
  readonly isLinked: boolean;
  readonly payload: JsonObject;
}

const PAGE = 1_000;

/** The events of a range, in order of time, without superseded ones. */
export async function* readHistoryRows(
  db: Db,
  { source, messageType, from, to }: HistoryRange,
): AsyncGenerator<HistoryRow> {
  let after: EventPosition | undefined;
  const ordered = sql`order by occurred_at, event_id`;
  const timeSlice = new TimeSlice();
  for (;;) {
    const behind =
      after === undefined
        ? sql`true`
        : sql`(occurred_at, event_id) > (${after.occurredAt}::timestamptz, ${after.eventId}::uuid)`;
    const page = sql`(
      select * from ${sql.table(tableOf(messageType))}
      where source = ${source} and message_type = ${messageType} and ${NOT_SUPERSEDED}
        and occurred_at >= ${from} and occurred_at < ${to} and ${behind}
      ${ordered} limit ${PAGE}) as page`;
    const rows = await allRows<Omit<HistoryRow, 'payload'> & { payload: string; next: number | null }>(db)`
      select next, event_id as "eventId", occurred_at as "occurredAt", origin,
             record_id as "recordId", payload::text as payload,
             exists (select from history_records where history_records.event_id = fitting.event_id) as "isLinked"
      from ${fittingRows(page, ordered)}`;
    for (const { payload, next: _, ...row } of rows) {
      yield { ...row, payload: parsePayload(payload) };
      if (timeSlice.isOver()) await timeSlice.rest();
    }
    after = rows.at(-1);
    if (rows.length < PAGE && typeof rows.at(-1)?.next !== 'number') return;
  }
}

function parsePayload(text: string): JsonObject {
  const payload = parseExactJson(text);
  if (!isJsonObject(payload)) throw new TypeError('the payload of a stored event is not a JSON object');
  return payload;
}

/** A log record and the stored event that it is. */
export interface HistoryLink {
  readonly logId: string;
  /** The time of the log record; of one without a time, that of the comparison which found it. */
  readonly at: Date;
  /** Null if the record could not be stored as an event: it is in quarantine, or of an erased person. */
  readonly event: EventPosition | null;
  /** The latest status of a text message or an e-mail; of an alert, whether it is acknowledged. */
  readonly status: string | null;
}

/** Those of these log records that are known, by the id in the log. */
export async function readHistoryLinks(
  db: Db,
  source: string,
  messageType: MessageType,
  logIds: readonly string[],
): Promise<Map<string, HistoryLink>> {
  const rows = await db
    .selectFrom('history_records')
    .select([
      'log_id as logId',
      'occurred_at as at',
      'event_id as eventId',
      'event_occurred_at as occurredAt',
    ])
    .select('status')
    .where('source', '=', source)
    .where('message_type', '=', messageType)
    .where(sql<boolean>`log_id = any(${arrayLiteral(logIds)}::text[])`)
    .execute();
  return new Map(
    rows.map(({ eventId, occurredAt, ...row }) => {
      const event = eventId === null || occurredAt === null ? null : { eventId, occurredAt };
      return [row.logId, { ...row, event }];
    }),
  );
}

/** A fetched event whose webhook arrived later. */
export interface Superseded extends EventPosition {
  readonly supersededBy: string;
}

/** One statement has at most this many rows. */
const MAX_ROWS = 500;

/** Records together which log records are which events, their latest status, and which events are superseded. */
export async function saveHistory(
  db: Db,
  { source, messageType }: Pick<HistoryRange, 'source' | 'messageType'>,
  links: readonly HistoryLink[],
  superseded: readonly Superseded[],
): Promise<void> {
  // In a fixed order, so that two transactions cannot deadlock.
  const ordered = links.toSorted((a, b) => (a.logId < b.logId ? -1 : 1));
  await db.transaction().execute(async (trx) => {
    for (let begin = 0; begin < ordered.length; begin += MAX_ROWS) {
      const some = ordered.slice(begin, begin + MAX_ROWS);
      await run(trx)`
        insert into history_records as known
          (source, message_type, log_id, occurred_at, event_id, event_occurred_at, status)
        select ${source}, ${messageType}, log_id, occurred_at, event_id, event_occurred_at, status
        from unnest(${arrayLiteral(some.map(({ logId }) => logId))}::text[],
                    ${arrayLiteral(some.map(({ at }) => at.toISOString()))}::timestamptz[],
                    ${arrayLiteral(some.map(({ event }) => event?.eventId ?? null))}::uuid[],
                    ${arrayLiteral(some.map(({ event }) => event?.occurredAt.toISOString() ?? null))}::timestamptz[],
                    ${arrayLiteral(some.map(({ status }) => status))}::text[])
          as links (log_id, occurred_at, event_id, event_occurred_at, status)
        on conflict (source, message_type, log_id) do update
          set occurred_at = excluded.occurred_at, event_id = excluded.event_id, event_occurred_at = excluded.event_occurred_at,
              status = excluded.status,
              status_changed_at = case when known.status is distinct from excluded.status then now()
                else known.status_changed_at end`;
    }
    await uncountSeen(trx, superseded);
    for (let begin = 0; begin < superseded.length; begin += MAX_ROWS) {
      const some = superseded.slice(begin, begin + MAX_ROWS);
      await run(trx)`
        insert into superseded_events (event_id, occurred_at, message_type, source, superseded_by)
        select event_id, occurred_at, ${messageType}, ${source}, superseded_by
        from unnest(${arrayLiteral(some.map(({ eventId }) => eventId))}::uuid[],
                    ${arrayLiteral(some.map(({ occurredAt }) => occurredAt.toISOString()))}::timestamptz[],
                    ${arrayLiteral(some.map(({ supersededBy }) => supersededBy))}::uuid[])
          as superseded (event_id, occurred_at, superseded_by)
        on conflict do nothing`;
    }
  });
}

/** Log records are kept for this many days. The logs whose retention is published do not reach back as far. */
const DAYS_KNOWN = 90;

/**
 * Forgets which event an old log record is, except where that is the only place with its latest status. A comparison would
 * find it again.
 */
export async function forgetOldLinks(db: Db): Promise<void> {
  await db
    .deleteFrom('history_records')
    .where('occurred_at', '<', sql<Date>`now() - make_interval(days => ${DAYS_KNOWN})`)
    .where('status', 'is', null)
    .execute();
}

/** The stored events that were fetched as these log records, by the id in the log. The range contains their times. */
export async function findFetched(
  db: Db,
  { source, messageType, from, to }: HistoryRange,
  logIds: readonly string[],
): Promise<Map<string, EventPosition>> {
  const rows = await allRows<EventPosition & { logId: string }>(db)`
    select record_id as "logId", event_id as "eventId", occurred_at as "occurredAt"
    from ${sql.table(tableOf(messageType))}
    where source = ${source} and message_type = ${messageType} and origin = 'backfill'
      and occurred_at >= ${from} and occurred_at < ${to} and record_id = any(${arrayLiteral(logIds)}::text[])
  `;
  return new Map(rows.map(({ logId, ...event }) => [logId, event]));
}

/** Up to when a source was compared with its history; undefined if it never was. */
export async function readComparedUntil(
  db: Db,
  source: string,
  messageType: MessageType,
): Promise<Date | undefined> {
  const row = await db
    .selectFrom('history_progress')
    .select('compared_until')
    .where('source', '=', source)
    .where('message_type', '=', messageType)
    .executeTakeFirst();
  return row?.compared_until;
}

export async function saveComparedUntil(db: Db, source: string, messageType: MessageType, until: Date) {
  await db
    .insertInto('history_progress')
    .values({ source, message_type: messageType, compared_until: until })
    .onConflict((exists) => exists.columns(['source', 'message_type']).doUpdateSet({ compared_until: until }))
    .execute();
}

/**
 * Takes or renews a lease for this many milliseconds by the server's clock. False while another process has it: two
 * processes that compared the same history at once could fetch a record twice.
 */
export async function takeLease(db: Db, name: string, holder: string, ms: number): Promise<boolean> {
  const lease = { holder, until: sql<Date>`now() + make_interval(secs => ${ms / 1_000})` };
  const { numInsertedOrUpdatedRows: taken } = await db
    .insertInto('history_leases')
    .values({ name, ...lease })
    .onConflict((exists) =>
      exists
        .column('name')
        .doUpdateSet(lease)
        .where((is) =>
          is.or([
            is('history_leases.holder', '=', holder),
            is('history_leases.until', '<', sql<Date>`now()`),
          ]),
        ),
    )
    .executeTakeFirst();
  return taken === 1n;
}

/** Gives a lease back. */
export async function endLease(db: Db, name: string, holder: string): Promise<void> {
  await db.deleteFrom('history_leases').where('name', '=', name).where('holder', '=', holder).execute();
}
