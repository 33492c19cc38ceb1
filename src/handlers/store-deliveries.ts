import { sql } from 'kysely';
import { MESSAGE_TYPES } from '../domain.ts';
import type { MessageType } from '../domain.ts';
import { describeError } from '../errors.ts';
import type { ReadDelivery } from '../queue/delivery-batch.ts';
import type { Db, Trx } from '../store/database.ts';
import { findStoredDeliveries, insertDeliveries } from '../store/deliveries.ts';
import type { NewDelivery } from '../store/deliveries.ts';
import { classifyFailure } from '../store/failure.ts';
import { insertEvents } from '../store/insert-events.ts';
import type { EventRow } from '../store/insert-events.ts';
import { insertQuarantine } from '../store/quarantine.ts';
import { openAccount, settle } from './account.ts';
import type { Account } from './account.ts';
import { convertDelivery } from './delivery-to-events.ts';
import type { SetAside } from './delivery-to-events.ts';

/**
 * One statement inserts at most so many rows, or so many characters of payload, so that a large delivery takes
 * neither memory for all its rows nor the event loop for long.
 */
const MAX_SLICE_ROWS = 2_000;
const MAX_SLICE_CHARACTERS = 1024 * 1024;

/** How long events are made at a stretch; then answers that wait have their turn. */
const MAX_STRETCH_MS = 10;

/** What became of some rows: the delivery id of each row written, and the rows that Postgres cannot hold. */
interface Inserted {
  readonly written: readonly string[];
  readonly rejected: readonly { readonly deliveryId: string; readonly setAside: SetAside }[];
}

type Insert = (trx: Trx, messageType: MessageType, rows: readonly EventRow[]) => Promise<Inserted>;

/**
 * Writes deliveries and their events in one transaction: all or nothing, and nothing for a delivery that is
 * there already. With `isolate`, rows that Postgres cannot hold go to quarantine; without, they fail the whole,
 * which saves the savepoints in all but the rarest batch. Gives the rows of the deliveries that were not there.
 */
export async function storeDeliveries(
  db: Db,
  batch: readonly ReadDelivery[],
  isolate: boolean,
): Promise<readonly NewDelivery[]> {
  return db.transaction().execute(async (trx) => {
    const accounts = await openAccounts(trx, batch);
    await insertAllEvents(trx, accounts, isolate ? insertIsolating : insertTogether);
    const settled = [...accounts.values()].map(settle);
    await insertQuarantine(
      trx,
      settled.flatMap(({ quarantined }) => quarantined),
    );
    const rows = settled.map(({ row }) => row);
    await insertDeliveries(trx, rows);
    return rows;
  });
}

/** An account for each delivery that is not stored yet, by its id. The same delivery may be there twice. */
async function openAccounts(trx: Trx, batch: readonly ReadDelivery[]): Promise<Map<string, Account>> {
  const accounts = new Map(batch.map((delivery) => [delivery.deliveryId, openAccount(delivery)]));
  const stored = await findStoredDeliveries(trx, [...accounts.keys()]);
  for (const deliveryId of stored) accounts.delete(deliveryId);
  return accounts;
}

/**
 * Makes the events of the deliveries and inserts them slice by slice, in one order within a slice: two transactions
 * of one slice each, which is what nearly all have, cannot deadlock. Larger ones that bring the same events in
 * another order can; that is a conflict, and tried again.
 */
async function insertAllEvents(
  trx: Trx,
  accounts: ReadonlyMap<string, Account>,
  insert: Insert,
): Promise<void> {
  let slice: EventRow[] = [];
  let characters = 0;
  async function insertSlice(): Promise<void> {
    for (const [messageType, rows] of groupByType(slice)) {
      const { written, rejected } = await insert(trx, messageType, rows);
      for (const deliveryId of written) addTo(accounts, deliveryId).written += 1;
      for (const { deliveryId, setAside } of rejected) addTo(accounts, deliveryId).rejected.push(setAside);
    }
    slice = [];
    characters = 0;
  }

  let began = performance.now();
  for (const account of accounts.values()) {
    for (const part of convertDelivery(account.delivery)) {
      if ('event' in part) {
        account.events += 1;
        slice.push(part.event);
        characters += part.event.payload.length;
      } else {
        account.setAside.push(part.setAside);
      }
      if (slice.length >= MAX_SLICE_ROWS || characters >= MAX_SLICE_CHARACTERS) await insertSlice();
      if (performance.now() - began > MAX_STRETCH_MS) {
        await new Promise(setImmediate);
        began = performance.now();
      }
    }
  }
  await insertSlice();
}

function addTo(accounts: ReadonlyMap<string, Account>, deliveryId: string): Account {
  const account = accounts.get(deliveryId);
  if (account === undefined)
    throw new Error(`an event of the delivery ${deliveryId}, which is not stored now`);
  return account;
}

/** The rows of each message type, types in a fixed order, so that transactions take the tables alike. */
function groupByType(rows: readonly EventRow[]): [MessageType, readonly EventRow[]][] {
  const byType = Map.groupBy(rows, ({ messageType }) => messageType);
  return MESSAGE_TYPES.flatMap((messageType): [MessageType, readonly EventRow[]][] => {
    const ofType = byType.get(messageType);
    return ofType === undefined ? [] : [[messageType, ofType]];
  });
}

const insertTogether: Insert = async (trx, messageType, rows) => ({
  written: await insertEvents(trx, messageType, rows),
  rejected: [],
});

/** Inserts what can be inserted: halves the rows at each refusal until the one that causes it stands alone. */
const insertIsolating: Insert = async (trx, messageType, rows) => {
  await sql`savepoint isolate`.execute(trx);
  try {
    const inserted = await insertTogether(trx, messageType, rows);
    await sql`release savepoint isolate`.execute(trx);
    return inserted;
  } catch (error) {
    if (classifyFailure(error) !== 'row refused') throw error;
    await sql`rollback to savepoint isolate`.execute(trx);
    await sql`release savepoint isolate`.execute(trx);
    const [first, second] = rows;
    if (first !== undefined && second === undefined)
      return { written: [], rejected: [rejection(first, error)] };
  }
  const middle = Math.ceil(rows.length / 2);
  const left = await insertIsolating(trx, messageType, rows.slice(0, middle));
  const right = await insertIsolating(trx, messageType, rows.slice(middle));
  return { written: [...left.written, ...right.written], rejected: [...left.rejected, ...right.rejected] };
};

function rejection({ deliveryId, payload }: EventRow, error: unknown): Inserted['rejected'][number] {
  return { deliveryId, setAside: { reason: describeError(error), content: Buffer.from(payload) } };
}
