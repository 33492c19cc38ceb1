import { pipeline } from 'node:stream/promises';
import { escapeIdentifier, type Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { FAMILIES } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import { READER } from '../server/roles/roles.ts';

/*
 * What one session reads of the archive stands in a schema of its own, before `public` in its search path: a table for the archived
 * rows of each family, which are loaded when a statement needs them, and under the names of the family's table and of each view
 * the live rows together with them. So every statement reads both, as it is.
 */

const ARCHIVED_TABLES = FAMILIES.map((family) => TABLE_OF[family]);

const PREFIX = 'archive_';
const WEIGHED = '_weighed';

/** The column that has the number of rows for which a row stands. */
export const WEIGHT = 'archive_weight';

/** Only of these is known that each row of theirs is a row of a table, with the same time; a person can add others. */
const WEIGHED_VIEWS: ReadonlySet<string> = new Set(
  `accounting_log alert_log audit_log authentication_log credential_log email_log events gdpr_log location_ap_centric
   location_client_centric other_log sms_log`.split(/\s+/),
);

/** The table of a session's schema with the archived rows of a family's table. */
const archivedRowsOf = (table: string) => `archived_${table}`;

/** The family's table whose archived rows this table has; undefined for others. */
export const tableOfArchived = (name: string) =>
  ARCHIVED_TABLES.find((table) => archivedRowsOf(table) === name);

export type ArchiveSchema = Awaited<ReturnType<typeof createArchiveSchema>>;

/** Whether a table or view can have weights. */
export const canBeWeighed = (name: string) =>
  WEIGHED_VIEWS.has(name) || ARCHIVED_TABLES.some((table) => table === name);

/**
 * Makes the schema of a session. `loader` is a connection of the service; its process id is in the name, so that what a
 * process leaves behind when it dies is recognized. Without the live rows, its tables have the archived ones alone. If it
 * is weighed, the tables and views have the column `archive_weight`, and `count` of it counts rows. Returns the schema as an
 * identifier in SQL, and the names by which a statement reads events.
 */
export async function createArchiveSchema(
  loader: Client,
  { withLive, isWeighed = false }: { readonly withLive: boolean; readonly isWeighed?: boolean },
) {
  const suffix = isWeighed ? WEIGHED : '';
  const { rows: own } = await loader.query<{ schema: string }>(
    `select format('${PREFIX}%s${suffix}', pg_backend_pid()) as schema`,
  );
  const schema = escapeIdentifier(own[0]?.schema ?? '');
  const weight = isWeighed ? `, 1::bigint as ${WEIGHT}` : '';
  const shadows = ARCHIVED_TABLES.map((table) => {
    const archived = `${schema}.${archivedRowsOf(table)}`;
    const rows = `select *${weight} from public.${table}`;
    return `create unlogged table ${archived} as ${rows} with no data;
      create index on ${archived} (occurred_at, event_id);
      create view ${schema}.${table} as ${withLive ? `${rows} union all ` : ''}table ${archived};`;
  });
  const count = `create aggregate ${schema}.count(bigint) (sfunc = int8pl, stype = bigint, initcond = 0, combinefunc = int8pl, parallel = safe);`;
  await loader.query(`create schema ${schema}; ${shadows.join('\n')} ${isWeighed ? count : ''}`);
  const { rows: found } = await loader.query<{ name: string; definition: string; isReadable: boolean }>(
    `with recursive reading as (
       select unnest($1::text[])::regclass::oid as oid
       union
       select ev_class from reading join pg_depend on refobjid = reading.oid and refclassid = 'pg_class'::regclass
         join pg_rewrite on pg_rewrite.oid = objid and classid = 'pg_rewrite'::regclass
     )
     select quote_ident(relname) as name, pg_get_viewdef(oid) as definition,
         has_table_privilege($2, oid, 'select') as "isReadable"
       from reading join pg_class using (oid)
       where relkind = 'v' and relnamespace = 'public'::regnamespace order by oid`,
    [ARCHIVED_TABLES, READER],
  );
  const views = isWeighed ? found.filter((view) => WEIGHED_VIEWS.has(view.name)) : found;
  await loader.query(`grant usage on schema ${schema} to ${READER}; set search_path = ${schema}, public`);
  try {
    for (const { name: view, definition, isReadable } of views) {
      // The server prints each FROM at the beginning of a line.
      const rows = isWeighed ? definition.replaceAll(/\n +FROM /g, `, ${WEIGHT}$&`) : definition;
      await loader.query(`create view ${schema}.${view} as ${rows}`);
      if (isReadable) await loader.query(`grant select on ${schema}.${view} to ${READER}`);
    }
  } finally {
    await loader.query('set search_path = public');
  }
  return { schema, names: [...ARCHIVED_TABLES, ...views.map(({ name: view }) => view)] };
}

/** Drops the schemas of connections that have ended. */
export async function dropAbandonedSchemas(loader: Client): Promise<void> {
  const { rows } = await loader.query<{ schema: string }>(
    `select quote_ident(nspname) as schema from pg_namespace
       where nspname ~ '^${PREFIX}\\d+(${WEIGHED})?$' and pg_has_role(nspowner, 'usage')
         and split_part(nspname, '_', 2)::int not in (select pid from pg_stat_activity)`,
  );
  for (const { schema } of rows) await dropArchiveSchema(loader, schema);
}

export async function dropArchiveSchema(loader: Client, schema: string): Promise<void> {
  await loader.query(`drop schema if exists ${schema} cascade`);
}

/** Removes what was loaded. Statements that are still reading it are not disturbed. */
export async function emptyArchived(loader: Client, schema: string, table: string): Promise<void> {
  await loader.query(`delete from ${schema}.${archivedRowsOf(table)}`);
}

/** Loads the rows of a CSV file, and returns their number; other columns than these stay null. */
export async function loadArchived(
  loader: Client,
  schema: string,
  table: string,
  columns: readonly string[],
  lines: AsyncIterable<Buffer>,
): Promise<number> {
  const names = columns.map((column) => escapeIdentifier(column)).join(', ');
  const target = `${schema}.${archivedRowsOf(table)}`;
  const loading = loader.query(copyFrom(`copy ${target} (${names}) from stdin (format csv)`));
  await pipeline(lines, loading);
  return loading.rowCount;
}
