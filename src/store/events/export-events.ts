import { sql } from 'kysely';
import { BOM } from '../../lib/text/csv.ts';
import { typesOfTerms } from '../../events/search-query.ts';
import type { Db } from '../server/database.ts';
import { familyQueries, type EventFilter } from './event-filter.ts';
import { createFormat, type ExportForm } from './export-format.ts';
import { rowsByTime } from '../partitions/rows-by-time.ts';
import type { Scope } from '../server/scope.ts';
import { onlyRow } from '../server/statement.ts';

const ROWS_AT_ONCE = 1_000;

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
  as: ExportForm,
  signal?: AbortSignal,
  onRows?: (rows: number) => void,
): AsyncGenerator<string> {
  const [messageType, another] = typesOfTerms((filter.terms ?? []).filter(({ key }) => key === 'type'));
  const format = createFormat(as, another === undefined ? messageType : undefined);
  const { snapshot } = await onlyRow<{ snapshot: string }>(db)`
    select pg_current_snapshot()::text as snapshot`;
  // The ids of another server say nothing about the present snapshot.
  const stored = sql`(id <= (select earlier_id from log_state)
    or pg_visible_in_snapshot(xid, ${snapshot}::pg_snapshot))`;
  const queries = familyQueries(scope, filter).map((query) => ({
    ...query,
    conditions: [...query.conditions, stored],
  }));
  if (format.header !== '') yield (as.bom === true ? BOM : '') + format.header;
  const options = { order: 'newest', rowsAtOnce: ROWS_AT_ONCE, columns: format.needs, signal } as const;
  for await (const rows of rowsByTime(db, queries, filter, options)) {
    for (let at = 0; at < rows.length; at += ROWS_A_PIECE) {
      const piece = rows.slice(at, at + ROWS_A_PIECE);
      yield piece.map((row) => format.line(row)).join('');
      onRows?.(piece.length);
    }
  }
}
