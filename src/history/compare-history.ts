import type { Clock } from '../clock.ts';
import type { LogRecord } from '../cloud/contract/logs.ts';
import type { Logs } from '../cloud/logs.ts';
import { parseTime } from '../parse-time.ts';
import type { Db } from '../store/database.ts';
import {
  findFetched,
  readHistoryLinks,
  readHistoryRows,
  saveHistory,
  type HistoryLink,
  type HistoryRange,
  type HistoryRow,
  type StoredAt,
  type Superseded,
} from '../store/history.ts';
import { columnReader, historyOf, keyMaker, type LoggedType } from './log-kinds.ts';
import { fits, matchRecords, type Candidate, type Match } from './match-records.ts';

/** The unit of comparisons: a quarter of an hour, in UTC. */
export const QUARTER_MS = 15 * 60 * 1000;

/** The result of comparing a quarter of an hour. */
export interface ComparedQuarter {
  /** Its beginning. */
  readonly quarter: Date;
  /** Events that both sides have, also those that were fetched before. */
  readonly matched: number;
  /** Events of webhooks that the log does not list, perhaps not yet. */
  readonly onlyWebhook: number;
  /** Log records without a webhook: they were missing, and are stored now unless it was a dry run. */
  readonly onlyLog: number;
  /** Those among the matched for which it is open which row is which log record. */
  readonly ambiguous: number;
}

/** The counts of several quarters together. */
export const sumQuarters = (quarters: readonly ComparedQuarter[]): Omit<ComparedQuarter, 'quarter'> =>
  quarters.reduce(
    (sum, { matched, onlyWebhook, onlyLog, ambiguous }) => ({
      matched: sum.matched + matched,
      onlyWebhook: sum.onlyWebhook + onlyWebhook,
      onlyLog: sum.onlyLog + onlyLog,
      ambiguous: sum.ambiguous + ambiguous,
    }),
    { matched: 0, onlyWebhook: 0, onlyLog: 0, ambiguous: 0 },
  );

/**
 * The log of a message type in a range of time, its end exclusive. It should begin with a quarter; the last one is compared up
 * to its end.
 */
interface HistoryQuery extends HistoryRange {
  readonly messageType: LoggedType;
}

/** What a comparison needs. */
export interface HistoryContext {
  readonly db: Db;
  readonly logs: Logs;
  readonly clock: Clock;
  /** The clocks of webhooks and logs may differ by so much. */
  readonly toleranceMs: number;
  /** Stores log records as one delivery of origin `backfill`. Resolves once they are committed. */
  readonly storeMissing: (
    source: string,
    messageType: LoggedType,
    records: readonly LogRecord[],
  ) => Promise<void>;
  /** Called for each log record that is read. What it throws ends the comparison; nothing is stored then. */
  readonly onRecord?: (() => void) | undefined;
  /** Whether the whole description of a missing audit event may be fetched now. By default it may. */
  readonly mayDescribe?: () => boolean;
  /** Called after each comparison that was not a dry run. */
  readonly onCompared?: OnCompared | undefined;
  /** Nothing is written. */
  readonly isDryRun?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The time range of a comparison, and when it began to read the log. */
export interface ComparedRange {
  readonly from: Date;
  readonly to: Date;
  readonly at: Date;
}

/** Receives the result of a comparison. */
type OnCompared = (
  source: string,
  messageType: LoggedType,
  quarters: readonly ComparedQuarter[],
  range: ComparedRange,
) => void | Promise<void>;

/** A log record, and what is known of it. */
interface Logged {
  readonly record: LogRecord;
  readonly logId: string;
  readonly at: number;
  /** The event that it is; undefined if it is missing, or its webhook still has to be found. */
  readonly link: Pick<HistoryLink, 'event'> | undefined;
  /** The latest status that was recorded; undefined if none was. */
  readonly status: string | null | undefined;
  /** The event if it was fetched: its webhook may still arrive. */
  readonly fetched: StoredAt | undefined;
}

/**
 * Compares the stored events of a range with the cloud's log of it. Log records that no webhook brought are stored, once,
 * however often and in whatever order webhooks and comparisons come: a webhook that arrives after its record was fetched
 * supersedes the fetched event. All of the range is in memory at once. Resolves with all quarters of the range.
 */
export async function compareHistory(
  context: HistoryContext,
  query: HistoryQuery,
): Promise<readonly ComparedQuarter[]> {
  const at = new Date(context.clock.now());
  // Partners of records at the ends of the range may lie outside of it.
  const wide = widen(query, context.toleranceMs);
  const records = await readLog(context, wide);
  const rows = await Array.fromAsync(readHistoryRows(context.db, wide));
  const logged = await findKnown(context.db, query, records, rows);

  const found = await findPartners(context, query, rows, logged);
  const quarters = countQuarters(query, found);
  if (context.isDryRun === true) return quarters;
  await save(context, query, found);
  await context.onCompared?.(query.source, query.messageType, quarters, { ...query, at });
  return quarters;
}

const widen = (query: HistoryQuery, ms: number): HistoryQuery => ({
  ...query,
  from: new Date(query.from.getTime() - ms),
  to: new Date(query.to.getTime() + ms),
});

const isWithin = ({ from, to }: HistoryQuery, at: number) => at >= from.getTime() && at < to.getTime();

/** The log records of a range by id: a page that is read while the log grows may repeat some. */
async function readLog(
  { logs, signal, onRecord }: HistoryContext,
  { messageType, from, to }: HistoryQuery,
): Promise<ReadonlyMap<string, LogRecord>> {
  const records = new Map<string, LogRecord>();
  const { kind } = historyOf(messageType);
  for await (const record of logs.read({ kind, from: from.getTime(), to: to.getTime(), signal })) {
    signal?.throwIfAborted();
    onRecord?.();
    records.set(String(record.id), record);
  }
  return records;
}

/** The log records that have a time, with what is known of them. */
async function findKnown(
  db: Db,
  { source, messageType }: HistoryQuery,
  records: ReadonlyMap<string, LogRecord>,
  rows: readonly HistoryRow[],
): Promise<readonly Logged[]> {
  const links = await readHistoryLinks(db, source, messageType, [...records.keys()]);
  // A fetched event says which record it is, also if that is not recorded, or was not before it left quarantine.
  const fetched = new Map(
    rows.filter(({ origin }) => origin === 'backfill').map((row) => [row.recordId, row]),
  );
  return [...records].flatMap(([logId, record]): Logged[] => {
    const at = timeOf(record);
    if (at === undefined) return [];
    const known = links.get(logId);
    const event = fetched.get(logId);
    const link = event === undefined ? known : { event };
    return [{ record, logId, at, link, status: known?.status, fetched: event }];
  });
}

/** Epoch milliseconds: log records have those, alerts a date-time, whose offset may be `+0000`. */
function timeOf({ id, timestamp }: LogRecord): number | undefined {
  if (typeof timestamp !== 'string') return timestamp ?? undefined;
  const time = parseTime(timestamp.trim().replace(/([+-]\d\d)(\d\d)$/, '$1:$2'), new Date(0));
  // Without it, the quarter would seem to be complete.
  if (time === undefined) throw new Error(`The time of the alert ${id} is no date-time: "${timestamp}".`);
  return time.getTime();
}

/**
 * Finds the webhooks of log records that have none, or whose event was fetched. Where some of both remain, a pair of an
 * earlier comparison may be in the way, made before a record or a webhook came that fits better.
 */
async function findPartners(
  { toleranceMs }: HistoryContext,
  query: HistoryQuery,
  rows: readonly HistoryRow[],
  logged: readonly Logged[],
): Promise<Found> {
  const { messageType } = query;
  const pushed = rows.filter(({ origin }) => origin === 'webhook');
  const webhooks = pushed.filter(({ isLinked }) => !isLinked);
  const open = logged.filter(({ link, fetched }) => link === undefined || fetched !== undefined);
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
  const again = await match(matcher, pushed, both, known);
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

/** Work holds the event loop for at most so long. */
const MAX_TURN_MS = 10;

/** Runs a generator to its end, and lets others have the event loop now and then. */
async function inTurns<T>(work: Generator<void, T, void>): Promise<T> {
  let began = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    if (performance.now() - began < MAX_TURN_MS) continue;
    await new Promise(setImmediate);
    began = performance.now();
  }
}

interface Found {
  readonly logged: readonly Logged[];
  /** The events of webhooks. */
  readonly pushed: readonly HistoryRow[];
  /** Those of them whose log record was not known. */
  readonly webhooks: readonly HistoryRow[];
  /** New pairs by the id in the log. */
  readonly paired: ReadonlyMap<string, Match>;
  readonly missing: readonly Logged[];
}

/** Counts by the time of the log record, or of the webhook that has none. */
function countQuarters(
  query: HistoryQuery,
  { logged, webhooks, paired, missing }: Found,
): readonly ComparedQuarter[] {
  const first = Math.floor(query.from.getTime() / QUARTER_MS);
  const count = Math.ceil(query.to.getTime() / QUARTER_MS) - first;
  const quarters = Array.from({ length: count }, (_, index) => ({
    quarter: new Date((first + index) * QUARTER_MS),
    matched: 0,
    onlyWebhook: 0,
    onlyLog: 0,
    ambiguous: 0,
  }));
  const add = (member: 'matched' | 'onlyWebhook' | 'onlyLog' | 'ambiguous', at: number) => {
    const quarter = quarters[Math.floor(at / QUARTER_MS) - first];
    if (quarter !== undefined && isWithin(query, at)) quarter[member] += 1;
  };
  const unknown = new Set(missing.map(({ logId }) => logId));
  for (const { logId, at } of logged) {
    add(unknown.has(logId) ? 'onlyLog' : 'matched', at);
    if (paired.get(logId)?.isAmbiguous === true) add('ambiguous', at);
  }
  const matched = new Set(Array.from(paired.values(), ({ webhook }) => webhook));
  for (const { eventId, occurredAt } of webhooks) {
    if (!matched.has(eventId)) add('onlyWebhook', occurredAt.getTime());
  }
  return quarters;
}

/** One delivery has at most so many records. */
const MAX_RECORDS = 500;

/** Stores what is missing, and records what the comparison found. */
async function save(
  context: HistoryContext,
  query: HistoryQuery,
  { logged, pushed, paired, missing }: Found,
): Promise<void> {
  const { db, storeMissing } = context;
  const { source, messageType } = query;
  const readStatus = columnReader(messageType, historyOf(messageType).status ?? '');
  const statusOf = (record: LogRecord) => readStatus(record) || null;
  const events = new Map(pushed.map((row) => [row.eventId, row]));
  const links: HistoryLink[] = [];
  const superseded: Superseded[] = [];

  for (const { logId, record, at, link, fetched, ...known } of logged) {
    // What lies around the range is only seen in part.
    if (!isWithin(query, at)) continue;
    const row = events.get(paired.get(logId)?.webhook ?? '');
    const status = statusOf(record);
    if (row !== undefined) {
      links.push({ logId, at: new Date(at), event: row, status });
      if (fetched !== undefined) superseded.push({ ...fetched, supersededBy: row.eventId });
    } else if (link !== undefined && known.status !== status) {
      links.push({ logId, at: new Date(at), event: link.event, status });
    }
  }
  for (let begin = 0; begin < missing.length; begin += MAX_RECORDS) {
    const some = missing.slice(begin, begin + MAX_RECORDS);
    const whole: LogRecord[] = [];
    for (const { record } of some) whole.push(await describe(context, record));
    await storeMissing(source, messageType, whole);
    const stored = await findFetched(
      db,
      query,
      some.map(({ logId }) => logId),
    );
    for (const { logId, record, at } of some) {
      links.push({ logId, at: new Date(at), event: stored.get(logId) ?? null, status: statusOf(record) });
    }
  }
  await saveHistory(db, query, links, superseded);
}

/**
 * An audit record with its whole description, of which the log has a summary, so that the stored event is not poorer than
 * that of a webhook. As it is if the cloud does not have the whole, or no call is to spare. The summary is kept in either
 * case: the webhook is found by it.
 */
async function describe(
  { logs, mayDescribe = () => true, signal }: HistoryContext,
  record: LogRecord,
): Promise<LogRecord> {
  const { full_description_id: id, description: summary } = record;
  const hasId = (typeof id === 'number' && id > 0) || (typeof id === 'string' && id !== '');
  if (!hasId || !mayDescribe()) return record;
  const whole = await logs.fullDescription(String(id), signal);
  if (whole === undefined) return record;
  const isBegun = typeof summary !== 'string' || whole.startsWith(summary);
  return { ...record, description: isBegun ? whole : `${summary}\n${whole}` };
}
