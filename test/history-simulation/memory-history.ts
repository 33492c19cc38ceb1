import type * as store from '../../src/store/reconcile/history.ts';
import type { HistoryLink, HistoryRow } from '../../src/store/reconcile/history.ts';

/**
 * Takes the place of `src/store/reconcile/history.ts` in simulations without a database (`run.ts` resolves it to this file): the same
 * functions on rows in memory.
 */

/** The rows of one run. */
export interface MemoryRows {
  /** By message type. */
  readonly events: Map<string, HistoryRow[]>;
  /** By `TYPE ID` of the log record. */
  readonly links: Map<string, HistoryLink>;
  readonly linkedEvents: Set<string>;
  readonly superseded: Set<string>;
  readonly comparedUntil: Map<string, Date>;
}

let rows = createRows();

function createRows(): MemoryRows {
  return {
    events: new Map(),
    links: new Map(),
    linkedEvents: new Set(),
    superseded: new Set(),
    comparedUntil: new Map(),
  };
}

/** Begins a run without rows. */
export function beginRows(): MemoryRows {
  rows = createRows();
  return rows;
}

const within = (time: Date, { from, to }: { readonly from: Date; readonly to: Date }) =>
  time >= from && time < to;

export const readHistoryRows: typeof store.readHistoryRows = async function* read(_db, range) {
  for (const row of rows.events.get(range.messageType) ?? []) {
    if (!within(row.occurredAt, range) || rows.superseded.has(row.eventId)) continue;
    yield { ...row, isLinked: rows.linkedEvents.has(row.eventId) };
  }
};

export const readHistoryLinks: typeof store.readHistoryLinks = async (_db, _source, messageType, logIds) =>
  new Map(
    logIds.flatMap((logId) => {
      const link = rows.links.get(`${messageType} ${logId}`);
      return link === undefined ? [] : [[logId, link]];
    }),
  );

export const saveHistory: typeof store.saveHistory = async (_db, { messageType }, links, superseded) => {
  for (const link of links) {
    rows.links.set(`${messageType} ${link.logId}`, link);
    if (link.event !== null) rows.linkedEvents.add(link.event.eventId);
  }
  for (const { eventId } of superseded) rows.superseded.add(eventId);
};

export const findFetched: typeof store.findFetched = async (_db, range, logIds) => {
  const asked = new Set(logIds);
  return new Map(
    (rows.events.get(range.messageType) ?? []).flatMap(({ eventId, occurredAt, recordId, origin }) =>
      origin === 'backfill' && recordId !== null && asked.has(recordId) && within(occurredAt, range)
        ? [[recordId, { eventId, occurredAt }]]
        : [],
    ),
  );
};

export const readComparedUntil: typeof store.readComparedUntil = async (_db, _source, messageType) =>
  rows.comparedUntil.get(messageType);

export const saveComparedUntil: typeof store.saveComparedUntil = async (_db, _source, messageType, until) => {
  rows.comparedUntil.set(messageType, until);
};

export const takeLease: typeof store.takeLease = async () => true;

export const endLease: typeof store.endLease = async () => undefined;
