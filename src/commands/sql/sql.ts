import { types } from 'pg';
import { parseExactJson } from '../../exact-json.ts';
import { readOnlyQuery } from '../../store/read-only-query.ts';
import { formatCsv, formatTable } from '../table.ts';

export type SqlFormat = 'table' | 'csv' | 'json';

/** `sql`: runs one statement as the reading role and prints what it gives. */
export async function printQuery(databaseUrl: string, statement: string, format: SqlFormat): Promise<void> {
  const { columns, rows } = await readOnlyQuery(databaseUrl, statement);
  const names = columns.map(({ name }) => name);
  switch (format) {
    case 'csv':
      process.stdout.write(`${formatCsv(names, rows)}\n`);
      return;
    case 'json': {
      const objects = rows.map((row) =>
        Object.fromEntries(
          columns.map(({ name, typeOid }, index) => [name, toJsonValue(row[index] ?? null, typeOid)]),
        ),
      );
      process.stdout.write(`${JSON.stringify(objects, null, 2)}\n`);
      return;
    }
    case 'table':
      process.stdout.write(`${formatTable(names, rows)}\n`);
      process.stderr.write(`(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})\n`);
  }
}

const BOOLEAN_TYPE: number = types.builtins.BOOL;

const JSON_TYPES: ReadonlySet<number> = new Set([types.builtins.JSON, types.builtins.JSONB]);

const NUMBER_TYPES: ReadonlySet<number> = new Set([
  types.builtins.INT2,
  types.builtins.INT4,
  types.builtins.INT8,
  types.builtins.FLOAT4,
  types.builtins.FLOAT8,
  types.builtins.NUMERIC,
]);

/** A value as JSON has it: numbers with every digit, documents as they are; the rest is the text of Postgres. */
function toJsonValue(text: string | null, typeOid: number): unknown {
  if (text === null) return null;
  if (typeOid === BOOLEAN_TYPE) return text === 't';
  const isNumber = NUMBER_TYPES.has(typeOid) && /^-?\d/.test(text);
  if (!isNumber && !JSON_TYPES.has(typeOid)) return text;
  return parseExactJson(text);
}
