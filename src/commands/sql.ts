import { readOnlyQuery } from '../store/read-only-query.ts';
import { formatCsv, formatTable } from './table.ts';

export type SqlFormat = 'table' | 'csv' | 'json';

/** `sql`: runs one statement as the reading role and prints what it gives. */
export async function printQuery(databaseUrl: string, statement: string, format: SqlFormat): Promise<void> {
  const { columns, rows } = await readOnlyQuery(databaseUrl, statement);
  switch (format) {
    case 'csv':
      process.stdout.write(`${formatCsv(columns, rows)}\n`);
      return;
    case 'json': {
      const objects = rows.map((row) =>
        Object.fromEntries(columns.map((name, index) => [name, row[index] ?? null])),
      );
      process.stdout.write(`${JSON.stringify(objects, null, 2)}\n`);
      return;
    }
    case 'table':
      process.stdout.write(`${formatTable(columns, rows)}\n`);
      process.stderr.write(`(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})\n`);
  }
}
