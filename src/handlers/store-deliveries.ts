import { MESSAGE_TYPES, type MessageType } from '../events/domain.ts';
import { describeError, OutageError } from '../lib/errors.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import type { ReadDelivery, SetAside } from '../queue/delivery-batch.ts';
import { CopyLines } from '../store/server/postgres-copy.ts';
import { inSavepoint, type Db, type Trx } from '../store/server/database.ts';
import { findStoredDeliveries, insertDeliveries, type NewDelivery } from '../store/deliveries/deliveries.ts';
import { MonthsMissingError, type MonthsOnDemand } from '../store/partitions/months-on-demand.ts';
import { classifyFailure } from '../store/server/failure.ts';
import {
  beginStoring,
  copyDeliveries,
  eventLine,
  insertEvents,
  orderOf,
} from '../store/events/insert-events.ts';
import type { EventRow } from '../store/events/insert-events.ts';
import { insertQuarantine, type NewQuarantined } from '../store/quarantine/quarantine.ts';
import { convertPacked } from './convert-packed.ts';
import { convertDelivery, type DeliveryPart } from './delivery-to-events.ts';
import { closeTally, openTally, type DeliveryTally } from './delivery-tally.ts';
import type { Refusals } from '../erasure/refusals.ts';

/**
 * One statement inserts at most this many rows, or this many characters of payload, so that a large delivery neither needs
 * memory for all its rows nor blocks the event loop for long.
 */
const MAX_SLICE_ROWS = 2_000;
const MAX_SLICE_CHARACTERS = 1024 * 1024;

/** The events that one COPY stores are all in memory. */
const MAX_COPY_CHARACTERS = 4 * 1024 * 1024;

/** The outcome of an insert: the delivery id of each row written, and the rows that Postgres cannot store. */
interface Inserted {
  readonly written: readonly string[];
  readonly rejected: readonly { readonly deliveryId: string; readonly setAside: SetAside }[];
}

type Insert = (trx: Trx, messageType: MessageType, rows: readonly EventRow[]) => Promise<Inserted>;

/**
 * Writes deliveries and their events within a transaction; a delivery that is already stored is skipped. With
 * `isolate`, rows that Postgres cannot store are quarantined. Without, such a row fails the transaction, which saves
 * the savepoints in all but the rarest batch. Events of erased persons are left out. Returns the rows of the deliveries that were not stored before.
 * Throws OutageError if `giveUp` fires in the middle of a large delivery, and MonthsMissingError.
 */
export async function storeDeliveries(
  trx: Trx,
  batch: readonly ReadDelivery[],
  isolate: boolean,
  months: MonthsOnDemand,
  refusals?: Refusals,
  giveUp?: AbortSignal,
): Promise<readonly NewDelivery[]> {
  await beginStoring(trx);
  const tallies = await openTallies(trx, batch);
  await insertAllEvents(trx, tallies, isolate ? insertIsolating : insertTogether, months, refusals, giveUp);
  const rows: NewDelivery[] = [];
  const quarantined: NewQuarantined[] = [];
  const timeSlice = new TimeSlice();
  for (const tally of tallies.values()) {
    const closed = closeTally(tally);
    rows.push(closed.row);
    quarantined.push(...closed.quarantined);
    if (timeSlice.isOver()) await timeSlice.rest();
  }
  await insertQuarantine(trx, quarantined);
  await insertDeliveries(trx, rows);
  return rows;
}

/**
 * Stores deliveries in their own transaction, by COPY: it takes half the work of `storeDeliveries`, but fails if one of
 * their rows is already stored. Resolves with undefined for deliveries that are not for COPY: they are large, or
 * something of them goes to quarantine.
 */
export async function copyBatch(
  db: Db,
  batch: readonly ReadDelivery[],
  months: MonthsOnDemand,
  refusals?: Refusals,
): Promise<readonly NewDelivery[] | undefined> {
  const tallies = new Map(batch.map((delivery) => [delivery.deliveryId, openTally(delivery)]));
  const lines = new Map<MessageType, CopyLines>();
  const rows: NewDelivery[] = [];
  const missing = new Set<string>();
  const timeSlice = new TimeSlice();
  let characters = 0;
  for (const tally of tallies.values()) {
    const { delivery } = tally;
    if (isForThread(delivery, refusals)) return undefined;
    for (const part of convertDelivery(delivery, refusals)) {
      if ('setAside' in part) return undefined;
      if ('refused' in part) {
        tally.refused += 1;
        continue;
      }
      months.note(missing, part.event);
      const line = eventLine(part.event);
      characters += line.length;
      if (characters > MAX_COPY_CHARACTERS) return undefined;
      const ofType = lines.get(part.event.messageType) ?? new CopyLines();
      ofType.add(orderOf(part.event), line);
      lines.set(part.event.messageType, ofType);
      tally.events += 1;
      tally.written += 1;
      if (timeSlice.isOver()) await timeSlice.rest();
    }
    rows.push(closeTally(tally).row);
  }
  await months.create(db, missing);
  await copyDeliveries(db, rows, lines);
  return rows;
}

/** A tally for each delivery that is not stored yet, by delivery id. The batch may contain a delivery twice. */
async function openTallies(trx: Trx, batch: readonly ReadDelivery[]): Promise<Map<string, DeliveryTally>> {
  const tallies = new Map(batch.map((delivery) => [delivery.deliveryId, openTally(delivery)]));
  const times = batch.map(({ receivedAt }) => receivedAt).toSorted((a, b) => a - b);
  const [first = 0, last = first] = [times[0], times.at(-1)];
  const received = { first: new Date(first), last: new Date(last) };
  const stored = await findStoredDeliveries(trx, [...tallies.keys()], received);
  for (const deliveryId of stored) tallies.delete(deliveryId);
  return tallies;
}

/**
 * Makes the events of the deliveries and inserts them slice by slice, each slice in a fixed order: two transactions of
 * one slice each, which is nearly all of them, cannot deadlock. Larger ones that contain the same events in another
 * order can; the failure rules repeat a transaction after a deadlock.
 */
async function insertAllEvents(
  trx: Trx,
  tallies: ReadonlyMap<string, DeliveryTally>,
  insert: Insert,
  months: MonthsOnDemand,
  refusals: Refusals | undefined,
  giveUp: AbortSignal | undefined,
): Promise<void> {
  let slice: EventRow[] = [];
  let characters = 0;
  const missing = new Set<string>();
  async function insertSlice(): Promise<void> {
    for (const event of slice) months.note(missing, event);
    const byType = Map.groupBy(slice, ({ messageType }) => messageType);
    // In a fixed order, so that all transactions lock the tables alike.
    for (const messageType of MESSAGE_TYPES) {
      const rows = byType.get(messageType);
      // Once a month is missing, the rest only shows which others are.
      if (rows === undefined || missing.size > 0) continue;
      const { written, rejected } = await insert(trx, messageType, rows);
      for (const deliveryId of written) tallyOf(tallies, deliveryId).written += 1;
      for (const { deliveryId, setAside } of rejected) tallyOf(tallies, deliveryId).rejected.push(setAside);
    }
    slice = [];
    characters = 0;
  }

  const timeSlice = new TimeSlice();
  async function take(tally: DeliveryTally, parts: Iterable<DeliveryPart>): Promise<void> {
    for (const part of parts) {
      if ('refused' in part) {
        tally.refused += 1;
      } else if ('event' in part) {
        tally.events += 1;
        slice.push(part.event);
        characters += part.event.payload.length;
      } else {
        tally.setAside.push(part.setAside);
      }
      if (slice.length >= MAX_SLICE_ROWS || characters >= MAX_SLICE_CHARACTERS) await insertSlice();
      if (timeSlice.isOver()) await timeSlice.rest();
    }
  }

  for (const tally of tallies.values()) {
    const { delivery } = tally;
    if (!isForThread(delivery, refusals)) await take(tally, convertDelivery(delivery, refusals));
    else {
      for await (const parts of convertPacked(delivery, refusals)) {
        if (giveUp?.aborted === true)
          throw new OutageError('the service stopped before a delivery was stored');
        await take(tally, parts);
      }
    }
  }
  await insertSlice();
  if (missing.size > 0) throw new MonthsMissingError(months, missing);
}

/** More characters of records than this are not compared with refusals on the event loop: it takes up to 50 ms. */
const MAX_COMPARED = 32 * 1024;

const isForThread = ({ packed, records }: ReadDelivery, refusals: Refusals | undefined) =>
  packed !== undefined || (refusals !== undefined && records.length > MAX_COMPARED);

function tallyOf(tallies: ReadonlyMap<string, DeliveryTally>, deliveryId: string): DeliveryTally {
  const tally = tallies.get(deliveryId);
  if (tally === undefined) {
    throw new Error(
      `Postgres returned an event of delivery ${deliveryId}, which this transaction did not store`,
    );
  }
  return tally;
}

const insertTogether: Insert = async (trx, messageType, rows) => {
  const { written, dropped } = await insertEvents(trx, messageType, rows);
  return { written, rejected: dropped.map((row) => setAside(row, DROPPED)) };
};

const DROPPED =
  'Postgres accepted the row but did not store it: a trigger or a rule of the table drops it. xiq-sink doctor names it';

/** Inserts the rows that Postgres accepts: halves them at each refusal, until the rejected row is isolated. */
const insertIsolating: Insert = async (trx, messageType, rows) => {
  try {
    return await inSavepoint(trx, () => insertTogether(trx, messageType, rows));
  } catch (error) {
    if (classifyFailure(error) !== 'row refused') throw error;
    const [first, second] = rows;
    if (first !== undefined && second === undefined)
      return { written: [], rejected: [setAside(first, describeError(error))] };
  }
  const middle = Math.ceil(rows.length / 2);
  const left = await insertIsolating(trx, messageType, rows.slice(0, middle));
  const right = await insertIsolating(trx, messageType, rows.slice(middle));
  return { written: [...left.written, ...right.written], rejected: [...left.rejected, ...right.rejected] };
};

const setAside = ({ deliveryId, payload }: EventRow, reason: string): Inserted['rejected'][number] => ({
  deliveryId,
  setAside: { reason, content: Buffer.from(payload) },
});
