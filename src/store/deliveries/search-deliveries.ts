import { sql, type RawBuilder, type Selectable } from 'kysely';
import { FAMILY_OF, isMessageType } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import { withinTime, type Db } from '../server/database.ts';
import { selectRows, toEvent } from '../events/event-rows.ts';
import { inScope, isSource, type Scope } from '../server/scope.ts';
import type { StoredEvent } from '../../events/stored-event.ts';
import type { ReceivedType } from '../server/schema/delivery-tables.ts';
import type { Tables } from '../server/schema/tables.ts';
import { HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';

/** Conditions on what was received, and when. All conditions that are given must hold. */
export interface ReceivedFilter extends TimeRange {
  readonly source?: string | undefined;
  readonly messageType?: ReceivedType | undefined;
}

interface DeliveryPage {
  readonly limit: number;
  readonly after?: { readonly receivedAt: Date; readonly deliveryId: string } | undefined;
}

export type Delivery = Selectable<Tables['deliveries']>;

/** The search goes back from the page's end in these steps: the index by time finds a slice, but gives no order. */
const STRETCH_HOURS = [1, 24, 30 * 24, Number.POSITIVE_INFINITY];

const STRETCH_TIMEOUT_MS = 3_000;

/**
 * One page of the matching deliveries, newest first. Each step back takes at most 3 seconds; `lookedBackTo` is set when one
 * further back than this time took too long.
 */
export async function searchDeliveries(
  db: Db,
  scope: Scope,
  filter: ReceivedFilter,
  page: DeliveryPage,
): Promise<{ readonly deliveries: readonly Delivery[]; readonly lookedBackTo: Date | undefined }> {
  const end = Math.min(
    ...[page.after?.receivedAt, filter.until, new Date()].flatMap((time) => time?.getTime() ?? []),
  );
  const first = filter.since?.getTime() ?? Number.NEGATIVE_INFINITY;
  let deliveries: readonly Delivery[] = [];
  let lookedBackTo = new Date(end);
  for (const hours of STRETCH_HOURS) {
    const from = Math.max(first, end - hours * HOUR_MS);
    const since = Number.isFinite(from) ? new Date(from) : undefined;
    const found = await withinTime(db, STRETCH_TIMEOUT_MS, (trx) =>
      selectPage(trx, scope, { ...filter, since }, page),
    );
    if (found === undefined) return { deliveries, lookedBackTo };
    deliveries = found;
    if (found.length === page.limit || from === first || since === undefined) break;
    lookedBackTo = since;
  }
  return { deliveries, lookedBackTo: undefined };
}

function selectPage(db: Db, scope: Scope, filter: ReceivedFilter, { limit, after }: DeliveryPage) {
  const newest = db
    .selectFrom('deliveries')
    .where((is) => is.and(receivedConditions(scope, filter)))
    .selectAll()
    .orderBy('received_at', 'desc')
    .orderBy('delivery_id', 'desc')
    .limit(limit);
  if (after === undefined) return newest.execute();
  return newest
    .where('received_at', '<=', after.receivedAt)
    .where((is) =>
      is(is.refTuple('received_at', 'delivery_id'), '<', is.tuple(after.receivedAt, after.deliveryId)),
    )
    .execute();
}

/** One delivery by its id; undefined when it is not stored. */
export async function findDelivery(db: Db, scope: Scope, deliveryId: string): Promise<Delivery | undefined> {
  return db
    .selectFrom('deliveries')
    .selectAll()
    .where('delivery_id', '=', deliveryId)
    .where(inScope(scope))
    .executeTakeFirst();
}

const EVENTS_TIMEOUT_MS = 3_000;

/** Events usually happen shortly before they arrive. For late events and wrong clocks, the search widens to these. */
const MINUTES_AROUND = [5, 60, 24 * 60, 31 * 24 * 60];

/**
 * The new events of a delivery, in its order, up to a limit; duplicates are not among them. No index leads
 * from a delivery to its events, so the search reads the transaction that stored the delivery or, for an old delivery
 * whose transaction is unknown, the time around its arrival. Undefined when that does not find all of them within
 * 3 seconds per attempt. Of events with long payloads, only those that can be read together.
 */
export async function eventsOfDelivery(
  db: Db,
  scope: Scope,
  delivery: Delivery,
  limit: number,
): Promise<readonly StoredEvent[] | undefined> {
  const expected = Math.min(delivery.event_count, limit);
  if (expected === 0) return [];
  if (delivery.xid !== null) {
    const found = await selectEvents(db, scope, delivery, expected, sql`xid = ${delivery.xid}::xid8`);
    if (found?.isAll === true) return found.events;
  }
  const received = delivery.received_at.getTime();
  for (const minutes of MINUTES_AROUND) {
    const from = new Date(received - minutes * MINUTE_MS);
    const to = new Date(received + minutes * MINUTE_MS);
    const found = await selectEvents(
      db,
      scope,
      delivery,
      expected,
      sql`occurred_at between ${from}::timestamptz and ${to}::timestamptz`,
    );
    if (found === undefined || found.isAll) return found?.events;
  }
  return undefined;
}

async function selectEvents(
  db: Db,
  scope: Scope,
  { delivery_id: deliveryId, message_type: messageType }: Delivery,
  expected: number,
  where: RawBuilder<unknown>,
): Promise<{ readonly events: readonly StoredEvent[]; readonly isAll: boolean } | undefined> {
  if (!isMessageType(messageType)) return { events: [], isAll: expected === 0 };
  const family = FAMILY_OF[messageType];
  const found = await withinTime(db, EVENTS_TIMEOUT_MS, (trx) =>
    selectRows(
      trx,
      family,
      sql`(select * from ${sql.table(TABLE_OF[family])} where ${where} and delivery_id = ${deliveryId}::uuid
        and ${inScope(scope)} order by place, id limit ${expected}) as found`,
      sql`order by place, id`,
    ),
  );
  if (found === undefined) return undefined;
  const { rows, next } = found;
  return { events: rows.map(toEvent), isAll: next !== undefined || rows.length === expected };
}

export function receivedConditions(
  scope: Scope,
  { source, messageType, since, until }: ReceivedFilter,
): readonly RawBuilder<boolean>[] {
  const conditions = [inScope(scope), isSource(source)];
  if (messageType !== undefined) conditions.push(sql`message_type = ${messageType}`);
  if (since !== undefined) conditions.push(sql`received_at >= ${since}`);
  if (until !== undefined) conditions.push(sql`received_at < ${until}`);
  return conditions;
}
