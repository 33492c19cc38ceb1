import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { MESSAGE_TYPES } from '../domain.ts';
import type { MessageType } from '../domain.ts';
import { describeError, OutageError } from '../errors.ts';
import type { StoreBatch } from '../queue/delivery-worker.ts';
import type { Db, Trx } from '../store/database.ts';
import { findStoredDeliveries, insertDeliveries } from '../store/deliveries.ts';
import { classifyFailure } from '../store/failure.ts';
import { insertEvents } from '../store/insert-events.ts';
import type { EventRow } from '../store/insert-events.ts';
import { insertQuarantine } from '../store/quarantine.ts';
import { deliveryToEvents } from './delivery-to-events.ts';
import type { DeliveryEvents, SetAside } from './delivery-to-events.ts';
import { quarantineId } from './identity.ts';

/** How long a batch rests between attempts while the database is away. */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/** What one batch came to, for the log. */
interface Stored {
  deliveries: number;
  events: number;
  duplicates: number;
  quarantined: number;
}

/** How a group of rows of one message type is written: returns what was written, sets aside what cannot be. */
type InsertRows = (trx: Trx, messageType: MessageType, rows: readonly EventRow[]) => Promise<Inserted>;

interface Inserted {
  /** The delivery id of each row written. */
  readonly written: readonly string[];
  readonly rejected: readonly (SetAside & { readonly deliveryId: string })[];
}

/**
 * Stores a batch in one transaction, all or nothing; storing it again changes nothing. During an outage it
 * waits and tries again until it succeeds or `signal` fires. A value that Postgres cannot hold splits the
 * batch until the one record that carries it stands alone and goes to quarantine; the rest is stored.
 */
export function createBatchStore(db: Db, logger: Logger): StoreBatch {
  return async (batch, signal) => {
    const deliveries = batch.deliveries.map(deliveryToEvents);
    const started = performance.now();
    let insertRows: InsertRows = insertTogether;
    for (let pause = MIN_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      try {
        const stored = await storeDeliveries(db, deliveries, insertRows);
        logger.debug({ ...stored, ms: Math.round(performance.now() - started) }, 'batch stored');
        return;
      } catch (error) {
        const failure = classifyFailure(error);
        if (failure === 'defect') throw error;
        if (failure === 'data') insertRows = insertIsolating;
        if (failure === 'outage') {
          logger.warn({ pause }, `a batch waits for the database: ${describeError(error)}`);
          await pauseOrGiveUp(pause, signal, error);
        }
      }
    }
  };
}

async function pauseOrGiveUp(ms: number, signal: AbortSignal, cause: unknown): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    throw new OutageError('gave up waiting for the database', { cause });
  }
}

async function storeDeliveries(
  db: Db,
  batch: readonly DeliveryEvents[],
  insertRows: InsertRows,
): Promise<Stored> {
  return db.transaction().execute(async (trx) => {
    const done = await findStoredDeliveries(
      trx,
      batch.map(({ delivery }) => delivery.deliveryId),
    );
    const fresh = batch.filter(({ delivery }) => !done.has(delivery.deliveryId));
    if (fresh.length === 0) return { deliveries: 0, events: 0, duplicates: 0, quarantined: 0 };

    const written = new Map<string, number>();
    const setAside = new Map(fresh.map(({ delivery, setAside }) => [delivery.deliveryId, [...setAside]]));
    for (const [messageType, rows] of groupByType(fresh)) {
      const inserted = await insertRows(trx, messageType, rows);
      for (const id of inserted.written) written.set(id, (written.get(id) ?? 0) + 1);
      for (const { deliveryId, ...rejected } of inserted.rejected) setAside.get(deliveryId)?.push(rejected);
    }
    const accounts = fresh.map((delivery) =>
      accountFor(
        delivery,
        written.get(delivery.delivery.deliveryId) ?? 0,
        setAside.get(delivery.delivery.deliveryId) ?? [],
      ),
    );
    await insertQuarantine(
      trx,
      accounts.flatMap(({ quarantined }) => quarantined),
    );
    await insertDeliveries(
      trx,
      accounts.map(({ row }) => row),
    );
    return sumUp(accounts.map(({ row }) => row));
  });
}

/** The rows of each message type, types in a fixed order, so that transactions lock the tables alike. */
function groupByType(batch: readonly DeliveryEvents[]): [MessageType, readonly EventRow[]][] {
  const rows = Map.groupBy(
    batch.flatMap(({ events }) => events),
    ({ messageType }) => messageType,
  );
  return MESSAGE_TYPES.flatMap((messageType): [MessageType, readonly EventRow[]][] => {
    const ofType = rows.get(messageType);
    return ofType === undefined ? [] : [[messageType, ofType]];
  });
}

const insertTogether: InsertRows = async (trx, messageType, rows) => ({
  written: await insertEvents(trx, messageType, rows),
  rejected: [],
});

/** Inserts what can be inserted: halves the rows at each data error until the one that causes it stands alone. */
const insertIsolating: InsertRows = async (trx, messageType, rows) => {
  await sql`savepoint isolate`.execute(trx);
  try {
    const inserted = await insertTogether(trx, messageType, rows);
    await sql`release savepoint isolate`.execute(trx);
    return inserted;
  } catch (error) {
    if (classifyFailure(error) !== 'data') throw error;
    await sql`rollback to savepoint isolate`.execute(trx);
    await sql`release savepoint isolate`.execute(trx);
    const [first, ...others] = rows;
    if (first !== undefined && others.length === 0) {
      const { deliveryId, payload } = first;
      return {
        written: [],
        rejected: [{ deliveryId, reason: describeError(error), content: Buffer.from(payload) }],
      };
    }
  }
  const middle = Math.ceil(rows.length / 2);
  const left = await insertIsolating(trx, messageType, rows.slice(0, middle));
  const right = await insertIsolating(trx, messageType, rows.slice(middle));
  return { written: [...left.written, ...right.written], rejected: [...left.rejected, ...right.rejected] };
};

/** The delivery's own row, whose counts must add up, and its rows in quarantine. */
function accountFor(
  { delivery, events, setAside: unread }: DeliveryEvents,
  written: number,
  setAside: SetAside[],
) {
  const rejectedEvents = setAside.length - unread.length;
  const receivedAt = new Date(delivery.receivedAt);
  const row = {
    delivery_id: delivery.deliveryId,
    received_at: receivedAt,
    source: delivery.source,
    message_type: delivery.messageType,
    origin: delivery.origin,
    secret_form: delivery.secretForm,
    body_bytes: delivery.bodyBytes,
    record_count: delivery.recordCount,
    expected_count: events.length + unread.length,
    event_count: written,
    duplicate_count: events.length - rejectedEvents - written,
    quarantined_count: setAside.length,
  };
  const quarantined = setAside.map(({ reason, content }, ordinal) => ({
    quarantine_id: quarantineId(delivery.deliveryId, ordinal),
    delivery_id: delivery.deliveryId,
    received_at: receivedAt,
    source: delivery.source,
    message_type: delivery.messageType,
    reason,
    content,
  }));
  return { row, quarantined };
}

function sumUp(
  rows: readonly { event_count: number; duplicate_count: number; quarantined_count: number }[],
): Stored {
  const sum = { deliveries: rows.length, events: 0, duplicates: 0, quarantined: 0 };
  for (const row of rows) {
    sum.events += row.event_count;
    sum.duplicates += row.duplicate_count;
    sum.quarantined += row.quarantined_count;
  }
  return sum;
}
