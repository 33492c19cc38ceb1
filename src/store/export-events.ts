import { sql } from 'kysely';
import type { Db } from './database.ts';
import { familyQueries, type EventFilter, type FamilyQuery } from './event-filter.ts';
import { byTime, selectPage, stretchesOf } from './event-pages.ts';
import type { StoredRow } from './event-rows.ts';
import { createFormat, type ExportFormat } from './export-format.ts';
import type { Scope } from './scope.ts';
import type { TimeRange } from './time-stretches.ts';

/** Rows of a family read at once. At most two such pages are in memory. */
const ROWS_AT_ONCE = 1_000;

/** Rows in one piece of text. */
const ROWS_A_PIECE = 500;

/**
 * All matching events, newest first, as the text of a file: pieces of whole lines, the CSV header first. The file
 * contains the events committed when the export began; stored events never change. Only retention, which drops whole
 * months, can remove events that are not read yet. No transaction stays open between two pieces, so a slow reader
 * blocks nothing, and at most some thousand rows are in memory. `onRows` receives the number of rows of each piece.
 * Throws the signal's reason once it has fired.
 */
export async function* exportLines(
  db: Db,
  scope: Scope,
  filter: EventFilter,
  as: ExportFormat,
  signal?: AbortSignal,
  onRows?: (rows: number) => void,
): AsyncGenerator<string> {
  const messageType = filter.messageTypes?.length === 1 ? filter.messageTypes[0] : undefined;
  const format = createFormat(as, messageType);
  const stored = sql`pg_visible_in_snapshot(xid, ${await currentSnapshot(db)}::pg_snapshot)`;
  const families = familyQueries(scope, filter).map((query) =>
    rowsOf(db, { ...query, conditions: [...query.conditions, stored] }, filter, format.needs, signal),
  );
  if (format.header !== '') yield format.header;
  for await (const rows of mergeNewest(families)) {
    for (let at = 0; at < rows.length; at += ROWS_A_PIECE) {
      const piece = rows.slice(at, at + ROWS_A_PIECE);
      yield piece.map((row) => format.line(row)).join('');
      onRows?.(piece.length);
    }
  }
}

/** The present snapshot, in Postgres' text form. */
async function currentSnapshot(db: Db): Promise<string> {
  const { rows } = await sql<{ snapshot: string }>`select pg_current_snapshot()::text as snapshot`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) throw new TypeError('the query for the snapshot returned no row');
  return row.snapshot;
}

/** A family's rows, newest first. */
async function* rowsOf(
  db: Db,
  query: FamilyQuery,
  filter: EventFilter,
  columns: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly StoredRow[]> {
  for await (const stretch of stretchesOf(db, [query], filter, { order: 'newest' })) {
    yield* pagesOf(db, query, stretch, columns, signal);
  }
}

/** The rows of a stretch. The next page is read while the present one is used. */
async function* pagesOf(
  db: Db,
  query: FamilyQuery,
  range: TimeRange,
  columns: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly StoredRow[]> {
  const read = (last?: StoredRow) => {
    const after = last && { occurredAt: new Date(last.occurredAt), eventId: last.eventId };
    return selectPage(db, query, range, { limit: ROWS_AT_ONCE, after, order: 'newest', columns });
  };
  for (let next = read(); ;) {
    const rows = await next;
    signal?.throwIfAborted();
    const isLast = rows.length < ROWS_AT_ONCE;
    if (!isLast) {
      next = read(rows.at(-1));
      // A failure shows when the page is awaited.
      next.catch(() => undefined);
    }
    if (rows.length > 0) yield rows;
    if (isLast) return;
  }
}

/** Rows of one family that wait to be merged with the others. */
interface Waiting {
  readonly source: AsyncGenerator<readonly StoredRow[]>;
  readonly rows: readonly StoredRow[];
  readonly isAtEnd: boolean;
}

/** Merges the rows of all families into one order, some at a time. */
async function* mergeNewest(
  sources: readonly AsyncGenerator<readonly StoredRow[]>[],
): AsyncGenerator<readonly StoredRow[]> {
  const newestFirst = byTime('newest');
  let waiting = sources.map((source): Waiting => ({ source, rows: [], isAtEnd: false }));
  for (;;) {
    waiting = await Promise.all(waiting.map(refill));
    // After the first last row, rows of that family may be missing.
    const [end] = waiting
      .filter(({ isAtEnd }) => !isAtEnd)
      .flatMap(({ rows }) => rows.slice(-1))
      .toSorted(newestFirst);
    const isReady = (row: StoredRow) => end === undefined || newestFirst(row, end) <= 0;
    const ready = waiting.flatMap(({ rows }) => rows.filter(isReady));
    if (ready.length === 0) return;
    yield ready.toSorted(newestFirst);
    waiting = waiting.map((one) => ({ ...one, rows: one.rows.filter((row) => !isReady(row)) }));
  }
}

async function refill(waiting: Waiting): Promise<Waiting> {
  if (waiting.rows.length > 0 || waiting.isAtEnd) return waiting;
  const next = await waiting.source.next();
  return next.done === true ? { ...waiting, isAtEnd: true } : { ...waiting, rows: next.value };
}
