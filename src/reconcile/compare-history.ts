import type { Clock } from '../lib/clock.ts';
import type { Hiq } from '../cloud/hiq.ts';
import type { LogRecord } from '../cloud/contract/logs.ts';
import { parseTime } from '../lib/text/parse-time.ts';
import { CloudApiError } from '../cloud/cloud-api-error.ts';
import type { CoverageDoubt } from '../store/server/schema/cloud-tables.ts';
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
  /** Log records that could not be stored: they are in quarantine, or of erased persons. */
  readonly unstored: number;
  /** Those among the matched for which it is open which row is which log record. */
  readonly ambiguous: number;
  /** Why the comparison proves nothing about the quarter. */
  readonly doubt?: CoverageDoubt | undefined;
}

/** The counts of several quarters together. */
export const sumQuarters = (
  quarters: readonly ComparedQuarter[],
): Omit<ComparedQuarter, 'quarter' | 'unstored' | 'doubt'> =>
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
  /** The organizations that the cloud lists, none of which means all. By default the account has none. */
  readonly restrictedTo?: Hiq['restrictedTo'] | undefined;
  /** Called for each log record that is read. What it throws ends the comparison; nothing is stored then. */
  readonly onRecord?: (() => void) | undefined;
  /** Receives the result of each comparison that was not a dry run. */
  readonly onCompared?:
    | ((
        source: string,
        messageType: LoggedType,
        quarters: readonly ComparedQuarter[],
        range: ComparedRange,
      ) => void | Promise<void>)
    | undefined;
  /** Nothing is written. */
  readonly isDryRun?: boolean;
}

/** The time range of a comparison, and when it began to read the log. */
export interface ComparedRange {
  readonly from: Date;
  readonly to: Date;
  readonly at: Date;
}

/**
 * Compares the stored events of a range with the cloud's log of it. Log records that no webhook brought are stored, once,
 * however often and in whatever order webhooks and comparisons come: a webhook that arrives after its record was fetched
 * supersedes the fetched event. All of the range is in memory at once. Resolves with all quarters of the range.
 */
export async function compareHistory(context: HistoryContext, query: HistoryQuery) {
  const at = new Date(context.clock.now());
  // Partners of records at the ends of the range may lie outside of it.
  const wide = widen(query, context.toleranceMs);
  const { records, doubt } = await readLog(context, wide);
  const rows = await Array.fromAsync(readHistoryRows(context.db, wide));
  const { logged, unplaced } = await findKnown(context.db, query, records, rows, at);

  const found = await findPartners(context.toleranceMs, query, rows, logged);
  const doubtOfAll = doubt ?? (unplaced.length > 0 ? 'record without time' : undefined);
  if (context.isDryRun === true) return countQuarters(query, found, new Set(), doubtOfAll);
  const unstored = await storeFound(context, query, found, unplaced);
  const quarters = countQuarters(query, found, unstored, doubtOfAll);
  await context.onCompared?.(query.source, query.messageType, quarters, { ...query, at });
  return quarters;
}

const widen = (query: HistoryQuery, ms: number): HistoryQuery => ({
  ...query,
  from: new Date(query.from.getTime() - ms),
  to: new Date(query.to.getTime() + ms),
});

/** The log records of a range by id: a page that is read while the log grows may repeat some. And whether others may be missing. */
async function readLog(
  { logs, signal, onRecord, restrictedTo }: HistoryContext,
  { messageType, from, to }: HistoryQuery,
): Promise<{ readonly records: ReadonlyMap<string, LogRecord>; readonly doubt: CoverageDoubt | undefined }> {
  const records = new Map<string, LogRecord>();
  const { kind } = historyOf(messageType);
  let doubt: CoverageDoubt | undefined;
  try {
    for await (const record of logs.read({ kind, from: from.getTime(), to: to.getTime(), signal })) {
      signal?.throwIfAborted();
      onRecord?.();
      records.set(String(record.id), record);
    }
  } catch (error) {
    if (!(error instanceof CloudApiError && error.isIncomplete)) throw error;
    doubt = 'incomplete list';
  }
  // Only now: the context may have changed while the log was read.
  const organizations = (await restrictedTo?.(signal)) ?? [];
  return { records, doubt: organizations.length > 0 ? 'restricted context' : doubt };
}

/** What is known of the log records that have a time, and of those that have none: the time of these is that of the comparison. */
async function findKnown(
  db: Db,
  { source, messageType }: HistoryQuery,
  records: ReadonlyMap<string, LogRecord>,
  rows: readonly HistoryRow[],
  now: Date,
): Promise<{ readonly logged: readonly Logged[]; readonly unplaced: readonly Logged[] }> {
  const links = await readHistoryLinks(db, source, messageType, [...records.keys()]);
  // A fetched event says which record it is, also if that is not recorded, or was not before it left quarantine.
  const fetched = new Map(
    rows.filter(({ origin }) => origin === 'backfill').map((row) => [row.recordId, row]),
  );
  const logged: Logged[] = [];
  const unplaced: Logged[] = [];
  for (const [logId, record] of records) {
    const at = timeOf(record);
    const known = links.get(logId);
    const event = fetched.get(logId);
    // One that had no time when it was quarantined may have one now.
    const isPlacedNow = known?.event === null && at !== undefined && known.at.getTime() !== at;
    const link = event === undefined ? (isPlacedNow ? undefined : known) : { event };
    const one = { record, logId, link, status: known?.status, fetched: event };
    if (at === undefined) unplaced.push({ ...one, at: now.getTime() });
    else logged.push({ ...one, at });
  }
  return { logged, unplaced };
}

/** Epoch milliseconds: log records have those, alerts a date-time, whose offset may be `+0000`. */
function timeOf({ timestamp }: LogRecord): number | undefined {
  if (typeof timestamp !== 'string') return timestamp ?? undefined;
  return parseTime(timestamp.trim().replace(/([+-]\d\d)(\d\d)$/, '$1:$2'), new Date(0))?.getTime();
}

/**
 * Counts by the time of the log record, or of the webhook that has none. `unstored` are the ids of log records that are no
 * events, `doubt` is one about all quarters. A quarter is shown by what the log lists of a later one: without that, and
 * where it lists nothing of what webhooks brought, it may list nothing at all.
 */
function countQuarters(
  query: HistoryQuery,
  { logged, webhooks, paired, missing }: Found,
  unstored: ReadonlySet<string>,
  doubt: CoverageDoubt | undefined,
): readonly ComparedQuarter[] {
  const first = Math.floor(query.from.getTime() / QUARTER_MS);
  const count = Math.ceil(query.to.getTime() / QUARTER_MS) - first;
  const quarters = Array.from({ length: count }, (_, index) => ({
    quarter: new Date((first + index) * QUARTER_MS),
    matched: 0,
    onlyWebhook: 0,
    onlyLog: 0,
    unstored: 0,
    ambiguous: 0,
  }));
  const add = (member: Exclude<keyof (typeof quarters)[number], 'quarter'>, at: number) => {
    const quarter = quarters[Math.floor(at / QUARTER_MS) - first];
    if (quarter !== undefined && isWithin(query, at)) quarter[member] += 1;
  };
  const unknown = new Set(missing.map(({ logId }) => logId));
  for (const { logId, at, link } of logged) {
    const isStored = !unstored.has(logId) && (link?.event !== null || paired.has(logId));
    add(!isStored ? 'unstored' : unknown.has(logId) ? 'onlyLog' : 'matched', at);
    if (paired.get(logId)?.isAmbiguous === true) add('ambiguous', at);
  }
  const matched = new Set(Array.from(paired.values(), ({ webhook }) => webhook));
  for (const { eventId, occurredAt } of webhooks) {
    if (!matched.has(eventId)) add('onlyWebhook', occurredAt.getTime());
  }
  let isShown = false;
  return quarters
    .toReversed()
    .map((quarter) => {
      const { matched, onlyLog, unstored, onlyWebhook } = quarter;
      const isListed = matched + onlyLog + unstored > 0;
      const contradicts = !isListed && onlyWebhook > 0;
      const silence = isShown && !contradicts ? undefined : ('silent log' as const);
      if (isListed || contradicts) isShown = isListed;
      return { ...quarter, doubt: unstored > 0 ? ('record not stored' as const) : (doubt ?? silence) };
    })
    .toReversed();
}
