import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { FAMILIES } from '../../../../src/events/domain.ts';
import { TABLE_OF } from '../../../../src/events/message-types.ts';
import { COLUMNS_OF } from '../../../../src/store/events/event-rows.ts';
import { useDatabase } from '../../../support/use-database.ts';

/*
 * TypeScript's types are gone at run time, so the files are read as text: a table opens with `  name: {`, or with
 * `  name: Shared & {`, and each of its columns takes a line. Those of the families are made from their typed columns.
 */

const DIRECTORY = new URL('../../../../src/store/server/schema/', import.meta.url);

/** The columns of each table, without what narrows their values. */
type Columns = Record<string, Record<string, string>>;

const test = useDatabase();

async function declaredColumns(): Promise<Columns> {
  const files = (await readdir(DIRECTORY)).filter((name) => name.endsWith('tables.ts'));
  const texts = await Promise.all(files.map((name) => readFile(new URL(name, DIRECTORY), 'utf8')));
  const tables: Columns = {};
  const shared: Columns = {};
  const bases = new Map<string, string>();
  let columns: Record<string, string> = {};
  for (const line of texts.join('\n').split('\n')) {
    const [, record] = /^(?:export )?interface (\w+) \{$/.exec(line) ?? [];
    const [, table, base] = /^ {2}(\w+): (?:(\w+) & )?\{$/.exec(line) ?? [];
    const [, column, type = ''] = /^ {2,4}(\w+): (.+);$/.exec(line) ?? [];
    if (record !== undefined) shared[record] = columns = {};
    else if (table !== undefined) tables[table] = columns = {};
    else if (column !== undefined) columns[column] = widened(type);
    if (table !== undefined && base !== undefined) bases.set(table, base);
  }
  for (const [table, base] of bases) tables[table] = { ...shared[base], ...tables[table] };
  for (const family of FAMILIES) {
    const typed = COLUMNS_OF[family].map(({ column, kind }): [string, string] => [
      column,
      `${VALUES[POSTGRES_TYPE[kind] ?? kind]} | null`,
    ]);
    tables[TABLE_OF[family]] = { ...shared['Envelope'], ...Object.fromEntries(typed) };
  }
  return tables;
}

/** `Generated<DestinationState>` is `Generated<string>` for Postgres. */
function widened(type: string): string {
  const [, generated, inner = ''] = /^(Generated\w*)<(.+)>$/.exec(type) ?? [];
  if (generated !== undefined) return `${generated}<${widened(inner)}>`;
  if (type.endsWith(' | null')) return `${widened(type.slice(0, -' | null'.length))} | null`;
  if (type.startsWith('Json')) return 'Json';
  return Object.values(VALUES).includes(type) ? type : 'string';
}

/** How statements read and write the values of each type of Postgres. */
const VALUES: Readonly<Record<string, string>> = {
  bigint: 'Int8',
  'bigint[]': 'string[]',
  boolean: 'boolean',
  bytea: 'Buffer',
  'bytea[]': 'Buffer[]',
  date: 'Date',
  'double precision': 'number',
  inet: 'string',
  int8multirange: 'string',
  integer: 'number',
  'integer[]': 'number[]',
  jsonb: 'Json',
  macaddr: 'string',
  text: 'string',
  'text[]': 'string[]',
  'timestamp with time zone': 'Timestamp',
  'timestamp with time zone[]': 'Date[]',
  uuid: 'string',
  'uuid[]': 'string[]',
  xid8: 'string',
};

/** Kinds of typed columns that Postgres calls otherwise. */
const POSTGRES_TYPE: Readonly<Record<string, string>> = {
  key: 'text',
  'key[]': 'text[]',
  timestamptz: 'timestamp with time zone',
};

interface Attribute {
  readonly relation: string;
  readonly isView: boolean;
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
  readonly origin: 'statement' | 'default' | 'always';
}

async function migratedColumns(): Promise<{ readonly tables: Columns; readonly views: Columns }> {
  const rows = await test.query<Attribute>`
    select relname as relation, relkind = 'v' as "isView", attname as name, format_type(atttypid, atttypmod) as type,
      not attnotnull as "isNullable", case when attidentity = 'a' or attgenerated <> '' then 'always'
        when attidentity = 'd' or atthasdef then 'default' else 'statement' end as origin
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and not relispartition
      and relname not like 'kysely%' and attnum > 0 and not attisdropped`;
  const tables: Columns = {};
  const views: Columns = {};
  for (const one of rows) ((one.isView ? views : tables)[one.relation] ??= {})[one.name] = typeOf(one);
  return { tables, views };
}

/** How `Tables` has to declare a column. */
function typeOf({ type, isView, isNullable, origin }: Attribute): string {
  const value = VALUES[type] ?? `no value for ${type}`;
  // Postgres takes every column of a view for nullable.
  if (isView) return value;
  const read = value.replace('Int8', 'string').replace('Timestamp', 'Date');
  if (origin === 'always') return `GeneratedAlways<${read}>`;
  const orNull = `${value}${isNullable ? ' | null' : ''}`;
  return origin === 'default' ? `Generated<${orNull}>` : orNull;
}

it('Tables has every table and column of the migrated schema, with its type', async () => {
  const { tables, views } = await migratedColumns();
  const declared = Object.entries(await declaredColumns());
  const isView = ([name]: readonly [string, unknown]) => name in views;
  expect(Object.fromEntries(declared.filter((one) => !isView(one)))).toEqual(tables);
  for (const [view, columns] of declared.filter(isView)) {
    const types: Record<string, string> = {};
    for (const [name, type] of Object.entries(columns)) types[name] = type.replace(' | null', '');
    expect(types).toEqual(views[view]);
  }
});
