import { Client, DatabaseError, escapeIdentifier, type FieldDef } from 'pg';
import { UsageError } from '../../lib/errors.ts';
import { createClient } from './postgres.ts';
import { READER } from './roles/roles.ts';

/** The result of a query: its columns, and rows of values as Postgres prints them. */
export interface QueryResult {
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** What was read of the archive for it; undefined: nothing. */
  readonly archived?: ArchivedRead | undefined;
}

interface ArchivedRead {
  readonly rows: number;
  readonly milliseconds: number;
}

interface ResultColumn {
  readonly name: string;
  /** The type of its values (`pg_type.oid`); of an array the type of the elements. */
  readonly typeOid: number;
  readonly isArray: boolean;
}

/** Every value stays the text that Postgres prints: no digit of a bigint is lost, no date is reinterpreted. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };

/** Prepares the transaction of a statement, and closes what that needed after it. */
type Prepare = (client: Client, statement: string) => Promise<Prepared | undefined>;

export interface Prepared extends AsyncDisposable, Pick<QueryResult, 'archived'> {
  /** What is to run in place of the statement. */
  readonly statement: string;
}

/**
 * Runs a person's SQL statement in a read-only transaction, logged in as `xiq_reader`: there is no stronger role to return
 * to. The extended protocol accepts a single statement, so that no second one can be appended. Throws a UsageError if the
 * login is another role or has further rights, else what Postgres reports, with what would help.
 */
export async function readOnlyQuery(
  readerUrl: string,
  statement: string,
  prepare: Prepare = async () => undefined,
): Promise<QueryResult> {
  const client = createClient(readerUrl, { application_name: 'xiq-sink sql' });
  // A session that the server ends reports it to the query as well.
  client.on('error', () => undefined);
  await client.connect();
  let prepared: Prepared | undefined;
  try {
    await checkReader(client);
    // Each statement sees what was prepared for it meanwhile.
    await client.query('begin isolation level read committed read only');
    prepared = await prepare(client, statement);
    const text = prepared?.statement ?? statement;
    const query = { text, rowMode: 'array' as const, queryMode: 'extended', types: AS_TEXT };
    const result = await client.query<(string | null)[]>(query);
    const columns = await describeColumns(client, result.fields);
    return { columns, rows: result.rows, archived: prepared?.archived };
  } catch (error) {
    throw withHint(error);
  } finally {
    await client.end();
    await prepared?.[Symbol.asyncDispose]();
  }
}

/** SQLSTATE of an unknown table or column. */
const UNKNOWN_NAME: ReadonlySet<unknown> = new Set(['42P01', '42703']);

/** A refused statement with the server's own hint, or with where the names are listed. */
function withHint(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error;
  const names = UNKNOWN_NAME.has(error.code)
    ? 'docs/tables.md lists the views and their columns.'
    : undefined;
  const hint = error.hint ?? names;
  return hint === undefined ? error : new Error(`${error.message}. ${hint}`, { cause: error });
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

/** The query that shows whether a login is the reader, and cannot become anything else. */
const IS_READER = `
  select session_user = '${READER}'
      and not (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)
      and not exists (select from pg_auth_members where member = pg_roles.oid) as "isReader"
    from pg_roles where rolname = session_user`;

async function checkReader(client: Client): Promise<void> {
  const { rows } = await client.query<{ isReader: boolean }>(IS_READER);
  if (rows[0]?.isReader === true) return;
  throw new UsageError(
    `READER_DATABASE_URL must name the role ${READER}, without further privileges and without membership in other roles (got ${client.user})`,
  );
}

/** How an administrator lets `xiq-sink sql` log in to this database. */
export function describeReader(databaseUrl: string): string {
  const { database = '', host, port } = new Client({ connectionString: databaseUrl });
  return [
    `READER_DATABASE_URL is not set: sql connects only as the role ${READER}. Ask a database administrator to run:`,
    `  alter role ${READER} login password 'PASSWORD' connection limit 10;`,
    `  grant connect on database ${escapeIdentifier(database)} to ${READER};`,
    `Then set READER_DATABASE_URL=postgresql://${READER}:PASSWORD@${host}:${port}/${database}`,
  ].join('\n');
}
