import { types } from 'pg';
import { readsArchive } from '../../archive/archive-database.ts';
import { BOM, csvLine, guardFormula } from '../../lib/text/csv.ts';
import { parseExactJson } from '../../events/exact-json.ts';
import { readOnlyQuery, type QueryResult } from '../../store/server/read-only-query.ts';
import { countOf, formatMilliseconds } from '../../lib/text/units.ts';
import type { CommandStore } from '../../serve/open-store.ts';
import { note, printJson, printTable } from '../shared/output.ts';
import { recordCommand } from '../shared/record.ts';

const LOGGED_CHARACTERS = 10_000;

/** Runs a statement with read-only permissions. The operator log records it, and the number of rows that it returned. */
export function recordedQuery(
  { db, archive }: Pick<CommandStore, 'db' | 'archive'>,
  readerUrl: string,
  statement: string,
  subject?: string,
) {
  const details = { statement: statement.slice(0, LOGGED_CHARACTERS) };
  const action = { action: 'sql.query', subject, details } as const;
  const work = () => readOnlyQuery(readerUrl, statement, readsArchive(archive));
  return recordCommand(db, action, work, ({ rows }) => ({ rows: rows.length }));
}

/** Prints the result of a query; the table with its number of rows on standard error. */
export async function printResult(result: QueryResult, format: 'table' | 'csv' | 'json', bom = false) {
  const { columns, rows } = result;
  const names = columns.map(({ name }) => name);
  switch (format) {
    case 'csv': {
      process.stdout.write((bom ? BOM : '') + csvLine(names.map(guardFormula)));
      for (const row of rows)
        process.stdout.write(csvLine(row.map((cell, index) => guard(cell, columns[index]))));
      return;
    }
    case 'json':
      printJson(
        rows.map((row) =>
          Object.fromEntries(
            columns.map((column, index) => [column.name, toJson(row[index] ?? null, column)]),
          ),
        ),
      );
      return;
    case 'table':
      await printTable(names, rows);
      note(`(${countOf(rows.length, 'row')}${describeArchived(result)})`);
  }
}

const describeArchived = ({ archived }: QueryResult) =>
  archived === undefined
    ? ''
    : `; ${countOf(archived.rows, 'archived row')} read in ${formatMilliseconds(archived.milliseconds)}`;

type ResultColumn = QueryResult['columns'][number];

/** A cell of CSV: a sign before a number is no formula. */
function guard(cell: string | null, column: ResultColumn | undefined): string | null {
  const isNumber = column !== undefined && !column.isArray && NUMBER_TYPES.has(column.typeOid);
  return cell === null || isNumber ? cell : guardFormula(cell);
}

const BOOLEAN_TYPE: number = types.builtins.BOOL;

/** Most readers of JSON would round it. */
const BIGINT_TYPE: number = types.builtins.INT8;

const JSON_TYPES: ReadonlySet<number> = new Set([types.builtins.JSON, types.builtins.JSONB]);

const NUMBER_TYPES: ReadonlySet<number> = new Set([
  types.builtins.INT2,
  types.builtins.INT4,
  BIGINT_TYPE,
  types.builtins.FLOAT4,
  types.builtins.FLOAT8,
  types.builtins.NUMERIC,
]);

/** A value as JSON: numbers with every digit, arrays, documents. Other types stay the text of Postgres, and so does bigint. */
function toJson(text: string | null, { typeOid, isArray }: ResultColumn): unknown {
  if (text === null) return null;
  return parseExactJson(isArray ? arrayToJsonText(text, typeOid) : toJsonText(text, typeOid));
}

function toJsonText(text: string, typeOid: number): string {
  if (typeOid === BOOLEAN_TYPE) return String(text === 't');
  // NaN and Infinity are no numbers of JSON.
  const isNumber = NUMBER_TYPES.has(typeOid) && typeOid !== BIGINT_TYPE && /^-?\d/.test(text);
  return isNumber || JSON_TYPES.has(typeOid) ? text : JSON.stringify(text);
}

/** Translates an array, such as `{a,"b \"c\"",NULL}` or `{{1,2},{3,4}}`, which may begin with its bounds, as in `[0:1]={1,2}`. */
function arrayToJsonText(text: string, elementOid: number): string {
  const elements = text.slice(text.indexOf('{'));
  return elements.replaceAll(/[{}]|"((?:[^"\\]|\\.)*)"|[^{},"]+/gs, (token, quoted: string | undefined) => {
    if (token === '{') return '[';
    if (token === '}') return ']';
    if (quoted !== undefined) return toJsonText(quoted.replaceAll(/\\(.)/gs, '$1'), elementOid);
    return token === 'NULL' ? 'null' : toJsonText(token, elementOid);
  });
}
