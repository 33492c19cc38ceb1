import { csvLine, guardFormula } from '../../lib/text/csv.ts';
import { FAMILY_OF, type MessageType } from '../../events/domain.ts';
import { escapeHiddenInJson } from '../../lib/text/hidden-characters.ts';
import { isoIn } from '../../lib/text/parse-time.ts';
import { FIELDS } from '../../events/message-types.ts';
import { columnsOfRow, type StoredRow } from './event-rows.ts';
import { viewColumns, type StoredEvent } from '../../events/stored-event.ts';

/** The format of an export: CSV (RFC 4180), or one JSON object per line. */
export type ExportFormat = 'csv' | 'ndjson';

export interface ExportForm {
  readonly format: ExportFormat;
  /** The IANA time zone in which CSV has its times, with their offset; UTC unless set. */
  readonly zone?: string;
  /** Whether CSV begins with a byte order mark. */
  readonly bom?: boolean | undefined;
}

interface RowFormat {
  /** The text before the first row; may be empty. */
  readonly header: string;
  /** The typed columns that the format needs. */
  readonly needs: ReadonlySet<string>;
  line(row: StoredRow): string;
}

/**
 * Creates a format. NDJSON has the columns of the view `events`, for a single message type also the type's own, and the
 * payload with every digit. CSV has the columns of the view, or, for a single message type, the envelope and the type's
 * own. In CSV, null is an empty cell, an empty text is "", and a list is a JSON array. Hidden characters are escaped: JSON
 * parses to the text as it is stored, in NDJSON and in the payload of CSV; other cells of CSV show the escape.
 */
export function createFormat(
  { format, zone = 'UTC' }: ExportForm,
  messageType: MessageType | undefined,
): RowFormat {
  const [columns, valuesOf] =
    messageType === undefined ? [VIEW_COLUMNS, viewOf] : [columnsOf(messageType), typedOf];
  const needs = new Set([...VIEW_NEEDS, ...columns.map(({ name }) => name)]);
  if (format === 'csv') return { needs, ...csvOf(columns, valuesOf, zone) };
  return { needs, header: '', line: (row) => toJsonLine(valuesOf(row), row.payload) };
}

type Columns = StoredEvent['columns'];

const viewOf = (row: StoredRow) =>
  viewColumns({ ...row, family: FAMILY_OF[row.messageType], columns: columnsOfRow(row) });

function toJsonLine(values: Columns, payload: string): string {
  return `${escapeHiddenInJson(`${JSON.stringify(values).slice(0, -1)},"payload":${payload}}`)}\n`;
}

interface CsvColumn {
  readonly name: string;
  /** Whether a stranger may have written the cell. A sign before a number, a time or an address is no formula. */
  readonly isText: boolean;
}

const columnsNamed = (names: string): readonly CsvColumn[] =>
  names.split(' ').map((name) => ({ name, isText: ['source', 'user_name', 'description'].includes(name) }));

const ENVELOPE = columnsNamed(
  'id event_id delivery_id source message_type occurred_at received_at owner_id org_id origin',
);

const VIEW_COLUMNS = [...ENVELOPE, ...columnsNamed('family user_name code client_mac ap_mac description')];

/** The typed columns that the view's columns are read from. */
const VIEW_NEEDS: ReadonlySet<string> = new Set([
  ...VIEW_COLUMNS.map(({ name }) => name),
  'username',
  'summary',
]);

function columnsOf(messageType: MessageType): readonly CsvColumn[] {
  const typed = FIELDS[messageType].map(({ column, kind }) => ({
    name: column,
    isText: kind === 'text' || kind === 'key',
  }));
  return [...ENVELOPE, ...typed];
}

const typedOf = (row: StoredRow): Columns => ({ ...viewOf(row), ...columnsOfRow(row) });

function csvOf(
  columns: readonly CsvColumn[],
  valuesOf: (row: StoredRow) => Columns,
  zone: string,
): Omit<RowFormat, 'needs'> {
  return {
    header: csvLine([...columns.map(({ name }) => name), 'payload']),
    line(row) {
      const times = zone !== 'UTC' && {
        occurred_at: isoIn(zone, new Date(row.occurredAt)),
        received_at: isoIn(zone, new Date(row.receivedAt)),
      };
      const values: Columns = { ...valuesOf(row), ...times };
      const cells = columns.map(({ name, isText }) => toCell(values[name] ?? null, isText));
      return csvLine([...cells, row.payload]);
    },
  };
}

function toCell(value: Columns[string], isText: boolean): string | null {
  if (value === null) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return isText ? guardFormula(text) : text;
}
