import type { Clock } from '../lib/clock.ts';
import type { LogRecord } from '../cloud/contract/logs.ts';
import { parseTime } from '../lib/text/parse-time.ts';
import type { Db } from '../store/server/database.ts';
import { readHistoryLinks, readHistoryRows, type HistoryRow } from '../store/reconcile/history.ts';
import { findPartners, type Found, type Logged } from './find-partners.ts';
import { isWithin, type HistoryQuery } from './history-query.ts';
import { historyOf, type LoggedType } from './log-kinds.ts';
import { storeFound, type StoreFoundContext } from './store-found.ts';

/** The unit of comparisons: a quarter of an hour, in UTC. */
export const QUARTER_MS = 15 * 60 * 1000;

/** The result of comparing a quarter of an hour. */
export interface ComparedQuarter {
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

/** What a comparison needs. */
export interface HistoryContext extends StoreFoundContext {
  readonly clock: Clock;
  /** The clocks of webhooks and logs may differ by so much. */
  readonly toleranceMs: number;
  /** Called for each log record that is read. What it throws ends the comparison; nothing is stored then. */
  readonly onRecord?: (() => void) | undefined;
  /** Called after each comparison that was not a dry run. */
  readonly onCompared?: OnCompared | undefined;
  /** Nothing is written. */
  readonly isDryRun?: boolean;
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

  const found = await findPartners(context.toleranceMs, query, rows, logged);
  const quarters = countQuarters(query, found);
  if (context.isDryRun === true) return quarters;
  await storeFound(context, query, found);
  await context.onCompared?.(query.source, query.messageType, quarters, { ...query, at });
  return quarters;
}

const widen = (query: HistoryQuery, ms: number): HistoryQuery => ({
  ...query,
  from: new Date(query.from.getTime() - ms),
  to: new Date(query.to.getTime() + ms),
});

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
