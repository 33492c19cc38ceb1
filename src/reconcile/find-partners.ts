import type { LogRecord } from '../cloud/contract/logs.ts';
import type { EventPosition } from '../store/events/event-pages.ts';
import type { HistoryLink, HistoryRow } from '../store/reconcile/history.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import { isWithin, type HistoryQuery } from './history-query.ts';
import { columnReader, historyOf, keyMaker, type LoggedType } from './log-kinds.ts';
import { fits, matchRecords, type Candidate, type Match } from './match-records.ts';

/** A log record, and what is known of it. */
export interface Logged {
  readonly record: LogRecord;
  readonly logId: string;
  readonly at: number;
  /** The event that it is; undefined if it is missing, or its webhook still has to be found. */
  readonly link: Pick<HistoryLink, 'event'> | undefined;
  /** The latest status that was recorded; undefined if none was. */
  readonly status: string | null | undefined;
  /** The event if it was fetched: its webhook may still arrive. */
  readonly fetched: EventPosition | undefined;
}

/** The two sides of a comparison, and which belong together. */
export interface Found {
  readonly logged: readonly Logged[];
  /** The events of webhooks. */
  readonly pushed: readonly HistoryRow[];
  /** Those of them whose log record was not known. */
  readonly webhooks: readonly HistoryRow[];
  /** New pairs by the id in the log. */
  readonly paired: ReadonlyMap<string, Match>;
  readonly missing: readonly Logged[];
}

/**
 * Finds the webhooks of log records that have none, or whose event was fetched. Where some of both remain, a pair of an
 * earlier comparison may be in the way, made before a record or a webhook came that fits better.
 */
export async function findPartners(
  toleranceMs: number,
  query: HistoryQuery,
  stored: readonly HistoryRow[],
  logged: readonly Logged[],
): Promise<Found> {
  const { messageType } = query;
  const pushed = stored.filter(({ origin }) => origin === 'webhook');
  const webhooks = pushed.filter(({ isLinked }) => !isLinked);
  const open = logged.filter(({ link, fetched }) => !link?.event || fetched !== undefined);
  const withPairs = (matches: readonly Match[]): Found => {
    const paired = new Map(matches.map((pair) => [pair.logged, pair]));
    const missing = open.filter(
      ({ link, logId, at }) => link === undefined && !paired.has(logId) && isWithin(query, at),
    );
    return { logged, pushed, webhooks, paired, missing };
  };
  // From all of them: also a pair of an earlier comparison shows which columns both sides have.
  const keyOf = keyMaker(
    messageType,
    pushed.map(({ payload }) => payload),
    logged.map(({ record }) => record),
  );
  const matcher = { messageType, keyOf, toleranceMs };
  const matches = await match(matcher, webhooks, open);
  if (matches.length === open.length || matches.length === webhooks.length) return withPairs(matches);

  const ids = new Set(pushed.map(({ eventId }) => eventId));
  const known = new Map([
    ...logged.flatMap(({ logId, link, fetched }) =>
      fetched === undefined && link?.event && ids.has(link.event.eventId)
        ? [[logId, link.event.eventId] as const]
        : [],
    ),
    ...matches.map((pair) => [pair.logged, pair.webhook] as const),
  ]);
  const isOpen = new Set(open);
  const both = logged.filter((one) => isOpen.has(one) || known.has(one.logId));
  // The record of any other row exists, too, although this list does not have it.
  const taken = new Set(known.values());
  const rows = pushed.filter(({ eventId, isLinked }) => !isLinked || taken.has(eventId));
  const again = await match(matcher, rows, both, known);
  const changed = again.filter((pair) => known.get(pair.logged) !== pair.webhook);
  const kept = new Set(changed.map((pair) => pair.logged));
  return withPairs([...matches.filter((pair) => !kept.has(pair.logged)), ...changed]);
}

interface Matcher {
  readonly messageType: LoggedType;
  readonly keyOf: ReturnType<typeof keyMaker>;
  readonly toleranceMs: number;
}

/** Pairs webhooks with log records of the same natural key, beginning with known pairs: the webhook of a record. */
async function match(
  { messageType, keyOf, toleranceMs }: Matcher,
  webhooks: readonly HistoryRow[],
  logged: readonly Logged[],
  known: ReadonlyMap<string, string> = new Map(),
): Promise<Match[]> {
  const { text = '' } = historyOf(messageType);
  const textOf = columnReader(messageType, text);
  const pushed = webhooks.map(({ eventId, occurredAt, payload }) => ({
    id: eventId,
    at: occurredAt.getTime(),
    text: textOf(payload),
    key: keyOf(payload),
  }));
  const records = logged.map(({ logId, at, record }) => ({
    id: logId,
    at,
    text: textOf(record),
    key: keyOf(record),
  }));
  // Pairs that would not be made now stay as they are.
  const rowOf = new Map(pushed.map((row) => [row.id, row]));
  const apart = new Set(
    records.flatMap((record) => {
      const row = rowOf.get(known.get(record.id) ?? '');
      const isFit = row === undefined || (row.key === record.key && fits(row, record, toleranceMs));
      return isFit ? [] : [row.id, record.id];
    }),
  );
  const isFree = ({ id }: Candidate) => !apart.has(id);
  const rows = Map.groupBy(pushed.filter(isFree), ({ key }) => key);
  const matches: Match[] = [];
  for (const [key, ofKey] of Map.groupBy(records.filter(isFree), (record) => record.key)) {
    const pairs = matchRecords(rows.get(key) ?? [], ofKey, toleranceMs, known);
    matches.push(...(await inTurns(pairs)));
  }
  return matches;
}

/** Runs a generator to its end, and lets others have the event loop now and then. */
async function inTurns<T>(work: Generator<void, T, void>): Promise<T> {
  const timeSlice = new TimeSlice();
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    if (timeSlice.isOver()) await timeSlice.rest();
  }
}
