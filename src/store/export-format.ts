import { FAMILY_OF } from '../domain.ts';
import type { MessageType } from '../domain.ts';
import { FIELDS } from '../message-types.ts';
import { columnsOfRow } from './event-rows.ts';
import type { StoredRow } from './event-rows.ts';
import { viewColumns } from './stored-event.ts';
import type { StoredEvent } from './stored-event.ts';

/** What an export is written as: CSV (RFC 4180), or one JSON object a line. */
export type ExportFormat = 'csv' | 'ndjson';

/** How rows become text. */
interface RowFormat {
  /** What stands before the first row; may be empty. */
  readonly header: string;
  /** The typed columns that a row must have. */
  readonly needs: ReadonlySet<string>;
  /** One row, with the end of its line. */
  line(row: StoredRow): string;
}

/**
 * NDJSON: the columns of the view `events`, and the payload with every digit. CSV: the same columns, or of one message
 * type its envelope and typed columns; null is an empty cell, an empty text is "", a list is a JSON array.
 */
export function createFormat(format: ExportFormat, messageType: MessageType | undefined): RowFormat {
  if (format === 'ndjson') return { header: '', needs: VIEW_NEEDS, line: toJsonLine };
  return messageType === undefined ? csvOf(VIEW_COLUMNS, viewOf) : csvOf(columnsOf(messageType), typedOf);
}

type Columns = StoredEvent['columns'];

const viewOf = (row: StoredRow) =>
  viewColumns({ ...row, family: FAMILY_OF[row.messageType], columns: columnsOfRow(row) });

function toJsonLine(row: StoredRow): string {
  return `${JSON.stringify(viewOf(row)).slice(0, -1)},"payload":${row.payload}}\n`;
}

interface CsvColumn {
  readonly name: string;
  /** Whether a stranger may have written the cell: of numbers, times and addresses, a sign in front is no formula. */
  readonly isText: boolean;
}

const envelope = (name: string): CsvColumn => ({ name, isText: name === 'source' });

const ENVELOPE: readonly CsvColumn[] = [
  'id',
  'event_id',
  'delivery_id',
  'source',
  'message_type',
  'occurred_at',
  'received_at',
  'owner_id',
  'org_id',
  'origin',
].map(envelope);

const VIEW_COLUMNS: readonly CsvColumn[] = [
  ...ENVELOPE,
  { name: 'family', isText: false },
  { name: 'user_name', isText: true },
  { name: 'code', isText: false },
  { name: 'client_mac', isText: false },
  { name: 'ap_mac', isText: false },
  { name: 'description', isText: true },
];

/** The typed columns behind those of the view. */
const VIEW_NEEDS: ReadonlySet<string> = new Set([...VIEW_COLUMNS.map(({ name }) => name), 'username']);

function columnsOf(messageType: MessageType): readonly CsvColumn[] {
  const typed = FIELDS[messageType].map(({ column, kind }) => ({
    name: column,
    isText: kind === 'text' || kind === 'key',
  }));
  return [...ENVELOPE, ...typed];
}

const typedOf = (row: StoredRow): Columns => ({ ...viewOf(row), ...columnsOfRow(row) });

function csvOf(columns: readonly CsvColumn[], valuesOf: (row: StoredRow) => Columns): RowFormat {
  return {
    header: `${[...columns.map(({ name }) => name), 'payload'].join(',')}\r\n`,
    needs: new Set([...VIEW_NEEDS, ...columns.map(({ name }) => name)]),
    line(row) {
      const values = valuesOf(row);
      const cells = columns.map(({ name, isText }) => toCell(values[name] ?? null, isText));
      return `${cells.join(',')},${quote(row.payload)}\r\n`;
    },
  };
}

/** A spreadsheet runs such a cell as a formula. */
const FORMULA = /^[=+\-@\t\r]/;

const MUST_BE_QUOTED = /[",\r\n]|^$/;

function toCell(value: Columns[string], isText: boolean): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = isText && FORMULA.test(text) ? `'${text}` : text;
  return MUST_BE_QUOTED.test(safe) ? quote(safe) : safe;
}

const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
