import { sql } from 'kysely';
import { MESSAGE_TYPES } from '../domain.ts';
import type { MessageType } from '../domain.ts';
import { describeError } from '../errors.ts';
import type { Db, Trx } from '../store/database.ts';
import { findStoredDeliveries, insertDeliveries } from '../store/deliveries.ts';
import type { NewDelivery } from '../store/deliveries.ts';
import { classifyFailure } from '../store/failure.ts';
import { insertEvents } from '../store/insert-events.ts';
import type { EventRow } from '../store/insert-events.ts';
import { insertQuarantine } from '../store/quarantine.ts';
import type { NewQuarantined } from '../store/quarantine.ts';
import { countTwins } from './delivery-to-events.ts';
import type { DeliveryEvents, SetAside } from './delivery-to-events.ts';
import { quarantineId } from './identity.ts';

/** What storing came to, for the log. */
export interface Stored {
  readonly deliveries: number;
  readonly events: number;
  readonly duplicates: number;
  readonly quarantined: number;
}

/** What became of some rows: the delivery id of each row written, and the rows that Postgres cannot hold. */
interface Inserted {
  readonly written: readonly string[];
  readonly rejected: readonly { readonly deliveryId: string; readonly setAside: SetAside }[];
}

/**
 * Writes deliveries and their events in one transaction: all or nothing, and nothing for a delivery that is
 * there already. With `isolate`, rows that Postgres cannot hold go to quarantine; without, they fail the whole,
 * which saves the savepoints in all but the rarest batch.
 */
export async function storeDeliveries(
  db: Db,
  batch: readonly DeliveryEvents[],
  isolate: boolean,
): Promise<Stored> {
  return db.transaction().execute(async (trx) => {
    const done = await findStoredDeliveries(
      trx,
      batch.map(({ delivery }) => delivery.deliveryId),
    );
    const fresh = batch.filter(({ delivery }) => !done.has(delivery.deliveryId));

    const inserted: Inserted[] = [];
    for (const [messageType, rows] of groupByType(fresh)) {
      inserted.push(await (isolate ? insertIsolating : insertTogether)(trx, messageType, rows));
    }
    const written = Map.groupBy(
      inserted.flatMap((group) => group.written),
      (deliveryId) => deliveryId,
    );
    const rejected = Map.groupBy(
      inserted.flatMap((group) => group.rejected),
      ({ deliveryId }) => deliveryId,
    );

    const accounts = fresh.map((delivery) => {
      const id = delivery.delivery.deliveryId;
      const rejectedEvents = rejected.get(id)?.map(({ setAside }) => setAside) ?? [];
      return accountFor(delivery, written.get(id)?.length ?? 0, rejectedEvents);
    });
    const rows = accounts.map(({ row }) => row);
    await insertQuarantine(
      trx,
      accounts.flatMap(({ quarantined }) => quarantined),
    );
    await insertDeliveries(trx, rows);
    return {
      deliveries: rows.length,
      events: sum(rows, 'eventCount'),
      duplicates: sum(rows, 'duplicateCount'),
      quarantined: sum(rows, 'quarantinedCount'),
    };
  });
}

/** The rows of each message type, types in a fixed order, so that transactions take the tables alike. */
function groupByType(batch: readonly DeliveryEvents[]): [MessageType, readonly EventRow[]][] {
  const byType = Map.groupBy(
    batch.flatMap(({ events }) => events),
    ({ messageType }) => messageType,
  );
  return MESSAGE_TYPES.flatMap((messageType): [MessageType, readonly EventRow[]][] => {
    const rows = byType.get(messageType);
    return rows === undefined ? [] : [[messageType, rows]];
  });
}

async function insertTogether(
  trx: Trx,
  messageType: MessageType,
  rows: readonly EventRow[],
): Promise<Inserted> {
  return { written: await insertEvents(trx, messageType, rows), rejected: [] };
}

/** Inserts what can be inserted: halves the rows at each data error until the one that causes it stands alone. */
async function insertIsolating(
  trx: Trx,
  messageType: MessageType,
  rows: readonly EventRow[],
): Promise<Inserted> {
  await sql`savepoint isolate`.execute(trx);
  try {
    return await insertTogether(trx, messageType, rows);
  } catch (error) {
    if (classifyFailure(error) !== 'data') throw error;
    await sql`rollback to savepoint isolate`.execute(trx);
    const [first, second] = rows;
    if (first !== undefined && second === undefined)
      return { written: [], rejected: [rejection(first, error)] };
  } finally {
    await sql`release savepoint isolate`.execute(trx);
  }
  const middle = Math.ceil(rows.length / 2);
  const left = await insertIsolating(trx, messageType, rows.slice(0, middle));
  const right = await insertIsolating(trx, messageType, rows.slice(middle));
  return { written: [...left.written, ...right.written], rejected: [...left.rejected, ...right.rejected] };
}

function rejection({ deliveryId, payload }: EventRow, error: unknown): Inserted['rejected'][number] {
  return { deliveryId, setAside: { reason: describeError(error), content: Buffer.from(payload) } };
}

/** The delivery's own row, whose counts must add up, and its rows in quarantine. */
function accountFor(
  { delivery, events, setAside }: DeliveryEvents,
  written: number,
  rejected: readonly SetAside[],
): { row: NewDelivery; quarantined: NewQuarantined[] } {
  const { deliveryId, source, messageType, origin, secretForm, bodyBytes, recordCount } = delivery;
  const receivedAt = new Date(delivery.receivedAt).toISOString();
  const allSetAside = [...setAside, ...rejected];
  const ordinalOf = countTwins(delivery);
  return {
    row: {
      deliveryId,
      source,
      messageType,
      receivedAt,
      origin,
      secretForm,
      bodyBytes,
      recordCount,
      expectedCount: events.length + setAside.length,
      eventCount: written,
      duplicateCount: events.length - rejected.length - written,
      quarantinedCount: allSetAside.length,
    },
    quarantined: allSetAside.map(({ reason, content, encoding = null }, ordinal) => ({
      quarantineId: quarantineId(deliveryId, ordinal),
      deliveryId,
      source,
      messageType,
      receivedAt,
      reason,
      content,
      encoding,
      // Those with the same content met the same fate, so all of them are here to be counted.
      twinsBefore: ordinalOf(content.toString('latin1')),
    })),
  };
}

const sum = (rows: readonly NewDelivery[], count: 'eventCount' | 'duplicateCount' | 'quarantinedCount') =>
  rows.reduce((total, row) => total + row[count], 0);
