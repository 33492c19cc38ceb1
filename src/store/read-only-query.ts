import { Client } from 'pg';

/** The result of a query: columns with the number of their type (`pg_type.oid`), and values as Postgres prints them. */
export interface QueryResult {
  readonly columns: readonly { readonly name: string; readonly typeOid: number }[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** Every value stays the text that Postgres prints, so that no digit of a bigint is lost. */
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
    const columns = result.fields.map(({ name, dataTypeID }) => ({ name, typeOid: dataTypeID }));
    return { columns, rows: result.rows };
  } finally {
    await client.end();
  }
}

async function becomeReader(client: Client): Promise<void> {
  try {
    await client.query('set local role xiq_reader');
  } catch (error) {
    const message = `this role may not read as xiq_reader: let an administrator "grant xiq_reader to ${client.user}"`;
    throw new Error(message, { cause: error });
  }
}
