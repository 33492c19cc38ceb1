import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';
import { FAMILY_OF, isMessageType } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { selectRows, toEvent } from './event-rows.ts';
import type { StoredEvent } from './read-events.ts';
import { byPosition } from './read-events.ts';
import type { Delivery } from './search-deliveries.ts';
import { withinTime } from './timed-query.ts';

const TIMEOUT_MS = 3_000;

const MINUTE_MS = 60_000;

/** Events happen shortly before they are sent, but for what is sent late or by a wrong clock: so far around is looked. */
const MINUTES_AROUND = [5, 60, 24 * 60, 31 * 24 * 60];

/**
 * The events that a delivery brought, in the order of storing, up to a limit. What it brought of events that were
 * stored before is not among them. Undefined when they were not all found within 3 seconds a try: no index leads from
 * a delivery to its events, so they are looked for in the transaction that stored it, and of an old delivery, which
 * does not know its transaction, in the time around its arrival.
 */
export async function eventsOfDelivery(
  db: Db,
  delivery: Delivery,
  limit: number,
): Promise<readonly StoredEvent[] | undefined> {
  const expected = Math.min(delivery.event_count, limit);
  if (expected === 0) return [];
  if (delivery.xid !== null) {
    const found = await select(db, delivery, limit, sql`xid = ${delivery.xid}::xid8`);
    if (found?.length === expected) return found;
  }
  const received = delivery.received_at.getTime();
  for (const minutes of MINUTES_AROUND) {
    const from = new Date(received - minutes * MINUTE_MS);
    const to = new Date(received + minutes * MINUTE_MS);
    const found = await select(
      db,
      delivery,
      limit,
      sql`occurred_at between ${from}::timestamptz and ${to}::timestamptz`,
    );
    if (found === undefined || found.length === expected) return found;
  }
  return undefined;
}

async function select(
  db: Db,
  { delivery_id: deliveryId, message_type: messageType }: Delivery,
  limit: number,
  where: RawBuilder<unknown>,
): Promise<readonly StoredEvent[] | undefined> {
  if (!isMessageType(messageType)) return [];
  const family = FAMILY_OF[messageType];
  const rows = await withinTime(db, TIMEOUT_MS, (trx) =>
    selectRows(
      trx,
      family,
      sql`${sql.table(TABLE_OF[family])} where ${where} and delivery_id = ${deliveryId}::uuid order by id limit ${limit}`,
    ),
  );
  return rows?.toSorted(byPosition).map(toEvent);
}
