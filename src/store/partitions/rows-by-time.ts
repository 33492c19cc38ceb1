import type { Db } from '../server/database.ts';
import type { EventFilter, FamilyQuery } from '../events/event-filter.ts';
import { byTime, selectPage, slicesToSearch } from '../events/event-pages.ts';
import type { StoredRow } from '../events/event-rows.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import type { EventOrder } from './time-slices.ts';

interface ReadOptions {
  readonly order: EventOrder;
  /** Rows of a family in a page. At most two pages are in memory. */
  readonly rowsAtOnce: number;
  /** The typed columns to read; the default is all. */
  readonly columns?: ReadonlySet<string> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * All rows that these queries find in the filter's time range, in one order, some at a time. No transaction stays open
 * between two pages. Throws the signal's reason once it has fired.
 */
export function rowsByTime(
  db: Db,
  queries: readonly FamilyQuery[],
  filter: EventFilter,
  options: ReadOptions,
): AsyncGenerator<readonly StoredRow[]> {
  return merge(
    queries.map((query) => rowsOf(db, query, filter, options)),
    options.order,
  );
}

async function* rowsOf(
  db: Db,
  query: FamilyQuery,
  filter: EventFilter,
  options: ReadOptions,
): AsyncGenerator<readonly StoredRow[]> {
  for await (const slice of slicesToSearch(db, [query], filter, options)) {
    yield* pagesOf(db, query, slice, options);
  }
}

/** The rows of a slice. The next page is read while the present one is used. */
async function* pagesOf(
  db: Db,
  query: FamilyQuery,
  range: TimeRange,
  { order, rowsAtOnce, columns, signal }: ReadOptions,
): AsyncGenerator<readonly StoredRow[]> {
  const read = (last?: StoredRow) => {
    const after = last && { occurredAt: new Date(last.occurredAt), eventId: last.eventId };
    return selectPage(db, query, range, { limit: rowsAtOnce, after, order, columns });
  };
  for (let next = read(); ;) {
    const { rows, next: leftOut } = await next;
    signal?.throwIfAborted();
    const isLast = rows.length < rowsAtOnce && leftOut === undefined;
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
async function* merge(
  sources: readonly AsyncGenerator<readonly StoredRow[]>[],
  order: EventOrder,
): AsyncGenerator<readonly StoredRow[]> {
  const compare = byTime(order);
  let waiting = sources.map((source): Waiting => ({ source, rows: [], isAtEnd: false }));
  for (;;) {
    waiting = await Promise.all(waiting.map(refill));
    // After the first last row, rows of that family may be missing.
    const [end] = waiting
      .filter(({ isAtEnd }) => !isAtEnd)
      .flatMap(({ rows }) => rows.slice(-1))
      .toSorted(compare);
    const isReady = (row: StoredRow) => end === undefined || compare(row, end) <= 0;
    const ready = waiting.flatMap(({ rows }) => rows.filter(isReady));
    if (ready.length === 0) return;
    yield ready.toSorted(compare);
    waiting = waiting.map((one) => ({ ...one, rows: one.rows.filter((row) => !isReady(row)) }));
  }
}

async function refill(waiting: Waiting): Promise<Waiting> {
  if (waiting.rows.length > 0 || waiting.isAtEnd) return waiting;
  const next = await waiting.source.next();
  return next.done === true ? { ...waiting, isAtEnd: true } : { ...waiting, rows: next.value };
}
