import { identifier, literal } from './engine.ts';
import type { ArchivedColumn } from '../store/archive/archive-tables.ts';

/*
 * How the columns of a table are written to Parquet. Each value returns to Postgres as it came: the seal is of its text. DuckDB's
 * reader of CSV guesses, and took a line break within a value for the end of a line, so rows come as JSON.
 */

interface FileType {
  /** The type of DuckDB, and with it that of the file. */
  readonly type: string;
  /** The value as Postgres reads it, if its text is another one. */
  readonly print?: (column: string) => string;
  /** Postgres exports the text of the value, which JSON would change. */
  readonly isText?: boolean;
}

/** A list is read by Postgres as an array. */
const listOf = (type: string): FileType => ({
  type: `${type}[]`,
  print: (column) => {
    const quoted = String.raw`'"' || replace(replace(one::varchar, '\', '\\'), '"', '\"') || '"'`;
    return `'{' || array_to_string(list_transform(${column}, lambda one: coalesce(${quoted}, 'NULL')), ',') || '}'`;
  },
});

const TEXT: FileType = { type: 'VARCHAR' };

/** By the type of Postgres. The addresses are texts: other programs read the files, too. */
const FILE_TYPES: Readonly<Record<string, FileType>> = {
  bigint: { type: 'BIGINT' },
  integer: { type: 'INTEGER' },
  xid8: { type: 'UBIGINT' },
  'double precision': { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  'timestamp with time zone': { type: 'TIMESTAMPTZ' },
  uuid: { type: 'UUID' },
  jsonb: { type: 'JSON', isText: true },
  text: TEXT,
  macaddr: TEXT,
  inet: TEXT,
  'bigint[]': listOf('BIGINT'),
  'text[]': listOf('VARCHAR'),
};

/** Throws a TypeError for a type that no released table has. */
function fileTypeOf({ name, type }: ArchivedColumn): FileType {
  const found = FILE_TYPES[type];
  if (found === undefined) throw new TypeError(`the archive knows no type ${type}, which column ${name} has`);
  return found;
}

/** The columns as Postgres exports them, as the members of a JSON object. */
export const exported = (columns: readonly ArchivedColumn[]) =>
  columns
    .map((column) => {
      const name = identifier(column.name);
      return fileTypeOf(column).isText === true ? `${name}::text as ${name}` : name;
    })
    .join(', ');

/** The columns as Postgres imports them. */
export const printed = (columns: readonly ArchivedColumn[]) =>
  columns.map((column) => {
    const name = identifier(column.name);
    return `${fileTypeOf(column).print?.(name) ?? name} as ${name}`;
  });

/** What DuckDB reads from a file of the exported columns: a line of JSON for each row. */
export function readExported(file: string, columns: readonly ArchivedColumn[], longestLine: number): string {
  const types = columns.map((column) => {
    const { type, isText } = fileTypeOf(column);
    return `${literal(column.name)}: '${isText === true ? 'VARCHAR' : type}'`;
  });
  const values = columns.map((column) => {
    const name = identifier(column.name);
    return `${name}::${fileTypeOf(column).type} as ${name}`;
  });
  return `select ${values.join(', ')} from read_json(${literal(file)}, format = 'newline_delimited',
    columns = {${types.join(', ')}}, maximum_object_size = ${Math.max(longestLine, LINE_BYTES)})`;
}

/** DuckDB's own default, 16 MiB, is read several times at once. */
const LINE_BYTES = 1024 * 1024;

/** What people look for comes first: their rows then lie together, and take less space. */
const SORTED_BY: Readonly<Record<string, readonly string[]>> = {
  audit_events: ['user_name'],
  location_observations: ['client_mac'],
  log_entries: ['username', 'client_mac'],
  alerts_received: ['alert_source_name'],
};

export const sortedBy = (table: string) =>
  [...(SORTED_BY[table] ?? []), 'occurred_at', 'event_id'].map(identifier).join(', ');

/** Rows of a file that are decoded at once. With eight times as many, a day needs 250 MiB and no file is smaller. */
const ROW_GROUP = 16_384;

/** Writes what a statement of DuckDB selects to a file. */
export const writeParquet = (statement: string, file: string) =>
  `copy (${statement}) to ${literal(file)} (format parquet, compression zstd, row_group_size ${ROW_GROUP})`;

/**
 * The rows of files as a table of DuckDB. A column that a later release added is null in older files, and those that have a value
 * here are not read. Beside the columns there are `file_index`, and `own_time`: when the event occurred, whatever value the
 * column has. DuckDB need not open the files to know the columns, which takes half of the time of a question to 365 files.
 */
export function filesAsTable(
  files: readonly string[],
  columns: readonly ArchivedColumn[],
  values: Readonly<Record<string, string>> = {},
): string {
  const known = Object.entries(values).map(([column, value]) => `${value} as ${identifier(column)}`);
  const rows = known.length === 0 ? '*' : `* replace (${known.join(', ')})`;
  const schema = columns.map((column) => {
    const name = literal(column.name);
    return `${name}: {name: ${name}, type: ${literal(fileTypeOf(column).type)}, default_value: null}`;
  });
  return `(select ${rows}, file_index, occurred_at as own_time
    from read_parquet([${files.map(literal).join(', ')}], schema = map {${schema.join(', ')}}, hive_partitioning = false))`;
}

/** The column without a value. */
export const nullAs = (column: ArchivedColumn) =>
  `null::${fileTypeOf(column).type} as ${identifier(column.name)}`;
