import type { LogRecord } from '../cloud/contract/logs.ts';
import type { Logs } from '../cloud/logs.ts';
import type { Db } from '../store/server/database.ts';
import { findFetched, saveHistory, type HistoryLink, type Superseded } from '../store/reconcile/history.ts';
import type { Found, Logged } from './find-partners.ts';
import { isWithin, type HistoryQuery } from './history-query.ts';
import { columnReader, historyOf, type LoggedType } from './log-kinds.ts';

/** Where missing log records are stored, and where their whole descriptions come from. */
export interface StoreFoundContext {
  readonly db: Db;
  readonly logs: Logs;
  /** Stores log records as one delivery of origin `backfill`. Resolves once they are committed. */
  readonly storeMissing: (
    source: string,
    messageType: LoggedType,
    records: readonly LogRecord[],
  ) => Promise<void>;
  /** Whether the whole description of a missing audit event may be fetched now. By default it may. */
  readonly mayDescribe?: () => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** One delivery has at most so many records. */
const MAX_RECORDS = 500;

/**
 * Stores what is missing, sets aside records without a time, and records what the comparison found. Resolves with the ids of
 * the log records that were not stored.
 */
export async function storeFound(
  context: StoreFoundContext,
  query: HistoryQuery,
  { logged, pushed, paired, missing }: Found,
  unplaced: readonly Logged[],
): Promise<ReadonlySet<string>> {
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
  const unstored = new Set<string>();
  const wanted = [...missing, ...unplaced.filter(({ link }) => link === undefined)];
  for (let begin = 0; begin < wanted.length; begin += MAX_RECORDS) {
    const some = wanted.slice(begin, begin + MAX_RECORDS);
    const whole: LogRecord[] = [];
    for (const { record } of some) whole.push(await describe(context, record));
    await storeMissing(source, messageType, whole);
    const stored = await findFetched(
      db,
      query,
      some.map(({ logId }) => logId),
    );
    for (const { logId, record, at } of some) {
      const event = stored.get(logId) ?? null;
      if (event === null) unstored.add(logId);
      links.push({ logId, at: new Date(at), event, status: statusOf(record) });
    }
  }
  await saveHistory(db, query, links, superseded);
  return unstored;
}

/**
 * An audit record with its whole description, of which the log has a summary, so that the stored event is not poorer than
 * that of a webhook. As it is if the cloud does not have the whole, or no call is to spare. The summary is kept in either
 * case: the webhook is found by it.
 */
async function describe(
  { logs, mayDescribe = () => true, signal }: StoreFoundContext,
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
