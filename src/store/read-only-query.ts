import { Client } from 'pg';
import type { FieldDef } from 'pg';

/** The result of a query: its columns, and rows of values as Postgres prints them. */
export interface QueryResult {
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly (readonly (string | null)[])[];
}

interface ResultColumn {
  readonly name: string;
  /** The type of its values (`pg_type.oid`); of an array the type of the elements. */
  readonly typeOid: number;
  readonly isArray: boolean;
}

/** Every value stays the text that Postgres prints: no digit of a bigint is lost, no date is reinterpreted. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };

/**
 * Runs a person's SQL statement as `xiq_reader`, in a read-only transaction. The extended protocol accepts a single
 * statement, so that no second one can be appended. Throws what Postgres reports.
 */
export async function readOnlyQuery(databaseUrl: string, statement: string): Promise<QueryResult> {
  const client = new Client({ connectionString: databaseUrl, application_name: 'xiq-sink sql' });
  await client.connect();
  try {
    await client.query('begin read only');
    await becomeReader(client);
    const query = { text: statement, rowMode: 'array' as const, queryMode: 'extended', types: AS_TEXT };
    const result = await client.query<(string | null)[]>(query);
    return { columns: await describeColumns(client, result.fields), rows: result.rows };
  } finally {
    await client.end();
  }
}

async function describeColumns(client: Client, fields: readonly FieldDef[]): Promise<ResultColumn[]> {
  // Vectors of the catalogue are arrays, too, but are printed in another form.
  const { rows } = await client.query<{ oid: number; typelem: number }>(
    `select oid, typelem from pg_type
      where oid = any($1) and typcategory = 'A' and typdelim = ',' and typname not like '%vector'`,
    [fields.map(({ dataTypeID }) => dataTypeID)],
  );
  const elements = new Map(rows.map(({ oid, typelem }) => [oid, typelem]));
  return fields.map(({ name, dataTypeID }) => {
    const element = elements.get(dataTypeID);
    return { name, typeOid: element ?? dataTypeID, isArray: element !== undefined };
  });
}

async function becomeReader(client: Client): Promise<void> {
  try {
    await client.query('set local role xiq_reader');
  } catch (error) {
    const message = `this role may not read as xiq_reader: let an administrator "grant xiq_reader to ${client.user}"`;
    throw new Error(message, { cause: error });
  }
}
