import { readFile } from 'node:fs/promises';
import type { Client } from 'pg';
import { UsageError } from '../../../lib/errors.ts';
import { createClient, serverName } from '../postgres.ts';
import { OWNER, passwordOf, READER, roleOf } from './roles.ts';

/** Key of the advisory lock under which one process at a time works on the roles. */
const ROLES_LOCK = 0x7869716f;

/** The schema of the queue's tables, which the service owns itself. */
const QUEUE_SCHEMA = 'bullmq';

/** Connection strings that name the roles and their passwords. */
interface RoleUrls {
  readonly databaseUrl: string;
  /** Of `xiq_reader`. */
  readonly readerUrl: string;
  /** Of the login for migrations. Undefined: the service migrates, and can become the owner of the tables. */
  readonly migrationUrl?: string | undefined;
}

/**
 * Creates or repairs the database roles, as a superuser that the service itself never uses:
 *
 * - `xiq_owner` owns schema, tables, views and functions. Nobody can log in as it.
 * - The service's role is not a superuser. It inserts and selects.
 * - The role for migrations becomes `xiq_owner`. It may be the superuser. Without one, the service's role does.
 * - `xiq_reader` can only select, with limits.
 *
 * Objects of the superuser and of the service's role are given to `xiq_owner`, and those of the queue to the service.
 * Changes all or nothing, and is safe to repeat. Throws a UsageError if the connections are not those of a superuser, of
 * another role and of `xiq_reader`.
 */
export async function createRoles(bootstrapUrl: string, urls: RoleUrls): Promise<void> {
  const client = createClient(bootstrapUrl, { application_name: 'xiq-sink roles' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock($1)', [ROLES_LOCK]);
    const service = await checkRoles(client, bootstrapUrl, urls);
    await createLogins(client, service, urls);
    await limitDatabases(client, service, urls);
    await giveObjects(client, service);
    await limitFunctions(client, service);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

/** Checks that the connection can create the roles. Returns the name of the service's role. */
async function checkRoles(client: Client, bootstrapUrl: string, urls: RoleUrls): Promise<string> {
  const service = roleOf(urls.databaseUrl);
  const reader = roleOf(urls.readerUrl);
  const { rows } = await client.query<{ isSuper: boolean; isSame: boolean; isFirst: boolean }>(
    `select (select rolsuper from pg_roles where rolname = current_user) as "isSuper",
      $1::text in (current_user, $2, $3) as "isSame",
      exists (select from pg_roles where rolname = $1 and oid = 10) as "isFirst"`,
    [service, OWNER, READER],
  );
  const [facts] = rows;
  const server = serverName(bootstrapUrl);
  if (facts?.isSuper !== true) {
    throw new UsageError(`BOOTSTRAP_DATABASE_URL must name a superuser of ${server}`);
  }
  if (facts.isFirst) {
    throw new UsageError(
      `DATABASE_URL names ${service}, the initial superuser of ${server}, which cannot be demoted. ` +
        'Rename it first: see "Database roles" in docs/operating.md.',
    );
  }
  if (facts.isSame) {
    throw new UsageError(
      `DATABASE_URL must name a role used only by the service, such as xiq_sink (got ${service})`,
    );
  }
  if (reader !== READER) {
    throw new UsageError(`READER_DATABASE_URL must name the role ${READER} (got ${reader})`);
  }
  if (urls.migrationUrl !== undefined && [service, OWNER, READER].includes(roleOf(urls.migrationUrl))) {
    throw new UsageError(
      `MIGRATION_DATABASE_URL must name a different role than DATABASE_URL, such as xiq_migrate (got ${roleOf(urls.migrationUrl)})`,
    );
  }
  return service;
}

const NO_ATTRIBUTES = 'nosuperuser nocreaterole nocreatedb noreplication nobypassrls';

async function createLogins(client: Client, service: string, urls: RoleUrls): Promise<void> {
  const { migrationUrl } = urls;
  const migrator = migrationUrl === undefined ? service : roleOf(migrationUrl);
  const { rows } = await client.query<{ isSince16: boolean; isSuper: boolean }>(
    `select current_setting('server_version_num')::int >= 160000 as "isSince16",
      exists (select from pg_roles where rolname = $1 and rolname <> $2 and rolsuper) as "isSuper"`,
    [migrator, service],
  );
  const [facts] = rows;
  for (const name of [OWNER, READER]) await createRole(client, name);
  await client.query(`alter role ${OWNER} nologin inherit ${NO_ATTRIBUTES}`);
  await createLogin(client, service, urls.databaseUrl);
  // A superuser is every role already. The service's role has just ceased to be one.
  if (facts?.isSuper !== true) {
    if (migrationUrl !== undefined) await createLogin(client, migrator, migrationUrl);
    await client.query(`grant ${OWNER} to ${client.escapeIdentifier(migrator)}`);
  }
  const serviceName = client.escapeIdentifier(service);
  if (migrationUrl !== undefined) await client.query(`revoke ${OWNER} from ${serviceName}`);
  // It names the sessions that it waits for, and what they do. Before Postgres 16, it names them only.
  if (facts?.isSince16 === true)
    await client.query(`grant pg_read_all_stats to ${serviceName} with inherit true, set false`);
  await client.query(await readFile(new URL('readers.sql', import.meta.url), 'utf8'));
  await client.query(`grant usage on schema xiq_roles to ${serviceName}`);
  await client.query(`grant execute on all functions in schema xiq_roles to ${serviceName}`);
  await client.query('select xiq_roles.keep_reader($1, $2)', [READER, passwordOf(urls.readerUrl)]);
}

async function createRole(client: Client, name: string): Promise<void> {
  const { rowCount } = await client.query('select from pg_roles where rolname = $1', [name]);
  if (rowCount === 0) await client.query(`create role ${client.escapeIdentifier(name)}`);
}

/** Before Postgres 16, a role inherits from all of its roles or from none: the grant cannot say it. */
async function createLogin(client: Client, name: string, url: string): Promise<void> {
  await createRole(client, name);
  await client.query(
    `alter role ${client.escapeIdentifier(name)} login noinherit ${NO_ATTRIBUTES} password ${client.escapeLiteral(passwordOf(url))}`,
  );
}

/** Only these roles may connect to the database. On a server without other databases, the reader may connect to no other. */
async function limitDatabases(client: Client, service: string, { migrationUrl }: RoleUrls): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select current_database() as name');
  const database = client.escapeIdentifier(rows[0]?.name ?? '');
  // First: a new owner takes over the rights of the former one.
  await runEach(
    client,
    `select format('alter database %I owner to current_user', datname) as statement
      from pg_database where datname = current_database() and datdba = $1::regrole`,
    [client.escapeIdentifier(service)],
  );
  await client.query(`revoke all on database ${database} from public`);
  // The queue uses temporary tables, and its migrations need the right to create its schema.
  await client.query(
    `grant connect, temporary, create on database ${database} to ${client.escapeIdentifier(service)}`,
  );
  await client.query(`grant connect on database ${database} to ${READER}`);
  if (migrationUrl !== undefined) {
    await client.query(
      `grant connect on database ${database} to ${client.escapeIdentifier(roleOf(migrationUrl))}`,
    );
  }
  await runEach(
    client,
    `select format('revoke connect, temporary on database %I from public', datname) as statement
      from pg_database where datname in ('postgres', 'template1') and not exists (
        select from pg_database
        where datname not in (current_database(), 'postgres', 'template0', 'template1'))`,
  );
}

/** Gives the objects in both schemas to their owners, one by one: "reassign owned" refuses for the first superuser. */
async function giveObjects(client: Client, service: string): Promise<void> {
  const serviceName = client.escapeIdentifier(service);
  await client.query(`create schema if not exists ${QUEUE_SCHEMA}`);
  await runEach(
    client,
    `with owners (schema, owner) as (values
        ('public'::regnamespace, '${OWNER}'::regrole), ('${QUEUE_SCHEMA}'::regnamespace, $1::regrole)
      ), objects as (
        select relnamespace as schema, relowner as owned_by,
          format('%s %s', case relkind when 'v' then 'view' when 'm' then 'materialized view'
            when 'S' then 'sequence' when 'f' then 'foreign table' else 'table' end, oid::regclass) as object
          from pg_class
          where relkind in ('r', 'p', 'v', 'm', 'S', 'f')
            and not exists (  -- sequences of columns follow their table
              select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid
                and relkind = 'S' and deptype in ('a', 'i'))
        union all
        select pronamespace, proowner, format('routine %s', oid::regprocedure) from pg_proc
        union all
        select typnamespace, typowner, format('type %s', oid::regtype) from pg_type
          where typtype in ('d', 'e', 'r')
            or typtype = 'c' and (select relkind from pg_class where pg_class.oid = typrelid) = 'c'
        union all
        select oid, nspowner, format('schema %s', oid::regnamespace) from pg_namespace
      )
      select format('alter %s owner to %s', object, owner) as statement
        from objects join owners using (schema)
        where owned_by <> owner
          and (owned_by in (current_user::regrole, $1::regrole) or object like 'schema %')`,
    [serviceName],
  );
}

/**
 * Functions that everybody may execute unless that is revoked: advisory locks, which the service waits for; large
 * objects and messages, which write; transaction ids, which others wait for; signals to other sessions.
 */
const SERVICE_FUNCTIONS =
  '^(pg_(try_)?advisory_.*|lo_.*|loread|lowrite|pg_notify|pg_logical_emit_message|pg_current_xact_id|txid_current' +
  '|pg_(cancel|terminate)_backend)$';

async function limitFunctions(client: Client, service: string): Promise<void> {
  await runEach(
    client,
    `select format(change, oid::regprocedure) as statement
      from pg_proc, unnest(array[
          'revoke execute on function %s from public',
          'grant execute on function %s to ${OWNER}, ' || $2
        ]) as change
      where pronamespace = 'pg_catalog'::regnamespace and proname ~ $1
        and exists (select from aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee = 0)`,
    [SERVICE_FUNCTIONS, client.escapeIdentifier(service)],
  );
  await client.query('revoke usage on language plpgsql from public');
  await client.query(`grant usage on language plpgsql to ${OWNER}, ${client.escapeIdentifier(service)}`);
}

/** Runs each statement that a query returns. */
async function runEach(client: Client, query: string, values: readonly string[] = []): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(query, [...values]);
  for (const { statement } of rows) await client.query(statement);
}
