import { sql, type RawBuilder } from 'kysely';
import { Client } from 'pg';
import { UsageError } from '../../../lib/errors.ts';
import type { Db, Trx } from '../database.ts';
import { readScripts } from '../schema/migrations.ts';
import { allRows, firstRow, run } from '../statement.ts';

/** The role that owns the tables. Nobody can log in as it. */
export const OWNER = 'xiq_owner';

/** The role that can only select. */
export const READER = 'xiq_reader';

/** The role that a connection string logs in as. */
export const roleOf = (url: string) => new Client({ connectionString: url }).user ?? '';

export const passwordOf = (url: string) => new Client({ connectionString: url }).password ?? '';

/**
 * Runs work as the owner of the tables, in a transaction; as the service's own role if the tables are its own. Not for a
 * whole session: a pooler would give it, with the role, to another client.
 */
export async function asOwner<T>(db: Db, work: (trx: Trx) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await becomeOwner(trx);
    return work(trx);
  });
}

/** The same for statements that no transaction may contain, on one connection that no pooler shares. */
export async function sessionAsOwner<T>(db: Db, work: (connection: Db) => Promise<T>): Promise<T> {
  return db.connection().execute(async (connection) => {
    await becomeOwner(connection, 'session');
    try {
      return await work(connection);
    } finally {
      await run(connection)`reset role`;
    }
  });
}

/**
 * Lets the rest of a transaction, or of a session, work as the owner of the tables. Does nothing if this login cannot become the
 * owner, and in a database whose tables belong to the service's own role, because no administrator has created the roles there:
 * a role belongs to the server, and other databases may share it.
 */
export async function becomeOwner(db: Db, until: 'transaction' | 'session' = 'transaction'): Promise<void> {
  await run(db)`
    select set_config('role', rolname, ${until === 'transaction'})
      from pg_roles join pg_namespace on nspowner = pg_roles.oid
      where rolname = ${OWNER} and nspname = 'public' and pg_has_role(pg_roles.oid, 'member')`;
}

/** Throws a UsageError if the tables have an owner that this transaction is not, and cannot become. */
export async function checkOwner(trx: Trx): Promise<void> {
  const rows = await allRows<{ name: string }>(trx)`
    select session_user as name from pg_namespace
      where nspname = 'public' and nspowner = to_regrole(${OWNER}) and not pg_has_role(nspowner, 'usage')`;
  for (const { name } of rows) {
    throw new UsageError(
      `${name} cannot change the tables, which belong to ${OWNER}. Run migrate with MIGRATION_DATABASE_URL, which names the role for migrations.`,
    );
  }
}

/**
 * Throws a UsageError with the statement for an administrator if the reading role does not exist, and the role that is
 * logged in may not create it.
 */
export async function checkReader(db: Db): Promise<void> {
  const rows = await allRows<{ name: string; quoted: string }>(db)`
    select current_user as name, quote_ident(current_user) as quoted from pg_roles
      where rolname = current_user and not rolsuper and not rolcreaterole
        and to_regrole(${READER}) is null`;
  for (const { name, quoted } of rows) {
    throw new UsageError(
      `The role ${READER} does not exist, and ${name} may not create roles. Ask an administrator of the database server to run:\n` +
        `  create role ${READER} nologin; grant ${READER} to ${quoted};`,
    );
  }
}

/** The rights of the database roles, as far as they weaken the protection of what is stored. */
export interface RoleState {
  /** The role that this program logs in as. */
  readonly service: string;
  readonly serviceIsSuperuser: boolean;
  /** `xiq_owner` owns the tables. If not, the service's own role does, and could remove their guards. */
  readonly hasOwner: boolean;
  /** The service can become `xiq_owner`, because it has the same login for migrations. */
  readonly canBecomeOwner: boolean;
  /** Rights of `xiq_reader` that let it do more than read, in words. */
  readonly readerRights: readonly string[];
}

/** What the migrations let nobody but the service read: secrets, accounts, and the salts of the log. */
const WITHHELD = /revoke all on ([\w,\s]+?) from public, xiq_reader/g;

/** Reads the rights of the roles, and changes none. */
export async function readRoleState(db: Db): Promise<RoleState> {
  const withheld = (await readScripts()).flatMap((script) =>
    [...script.matchAll(WITHHELD)].flatMap(([, names = '']) => names.split(/,\s*/)),
  );
  const state = await firstRow<RoleState>(db)`
    with tables as (
      select oid, relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
    )
    select session_user as service, service.rolsuper as "serviceIsSuperuser",
        (select relowner = to_regrole(${OWNER}) from pg_class where oid = to_regclass('public.deliveries')) is true
          as "hasOwner",
        coalesce(pg_has_role(service.oid, to_regrole(${OWNER})::oid, 'member'), false) as "canBecomeOwner",
        array_remove(array[
          case when has_schema_privilege(reader.oid, 'public', 'create') then 'tables and functions of its own' end,
          case when has_database_privilege(reader.oid, current_database(), 'temporary') then 'temporary tables' end,
          case when has_function_privilege(reader.oid, 'pg_advisory_lock(bigint)', 'execute') then 'advisory locks' end,
          case when has_function_privilege(reader.oid, 'lo_create(oid)', 'execute') then 'large objects' end,
          case when reader.rolconnlimit < 0 then 'unlimited connections' end,
          (select 'write access to ' || string_agg(relname, ', ' order by relname) from tables
            where has_table_privilege(reader.oid, oid, 'insert, update, delete, truncate, trigger')
              or has_any_column_privilege(reader.oid, oid, 'insert, update')),
          (select 'read access to ' || string_agg(relname, ', ' order by relname) from tables
            where relname = any(${withheld}::text[]) and has_any_column_privilege(reader.oid, oid, 'select'))
          ], null) as "readerRights"
      from pg_roles service, pg_roles reader
      where service.rolname = session_user and reader.rolname = ${READER}`;
  if (state === undefined) throw new Error(`the role ${READER} does not exist`);
  return state;
}

/**
 * Gives the service's role, or else the one that is logged in, the rights on every table and function that the owner kept for
 * itself: a table that nobody may update has lost that right there, too. Grants only what is missing. The transaction is the
 * owner's and holds the lock of the migrations.
 */
export async function grantToService(trx: Trx, service: string | undefined): Promise<void> {
  const grants = missingGrants(service === undefined ? sql`session_user` : sql`${service}::name`);
  for (const { statement } of await allRows<{ statement: string }>(trx)`${grants}`) {
    await run(trx)`${sql.raw(statement)}`;
  }
}

const missingGrants = (service: RawBuilder<unknown>) => sql`
  with owned as (
    select * from pg_class
      where relnamespace = 'public'::regnamespace and relowner = quote_ident(current_user)::regrole
        and relkind in ('r', 'p', 'v', 'S') and ${service} <> current_user
  )
  select format('grant usage on schema public to %I', ${service}) as statement
    where not has_schema_privilege(${service}, 'public', 'usage')
  union all
  -- guard_table grants to the role that calls it, which may be that for migrations.
  select distinct format('revoke all on %s from session_user', oid::regclass) from owned, aclexplode(relacl)
    where session_user <> ${service} and grantee = quote_ident(session_user)::regrole
  union all
  select format('grant %s on %s to %I', privilege_type, oid::regclass, ${service})
    from owned, aclexplode(coalesce(relacl, acldefault(
      case relkind when 'S' then 's'::"char" else 'r'::"char" end, relowner)))
    where grantee = relowner and case relkind
      when 'S' then privilege_type in ('SELECT', 'USAGE')
        and not has_sequence_privilege(${service}, oid, privilege_type)
      else privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
        and not has_table_privilege(${service}, oid, privilege_type) end
  union all
  select format('grant execute on function %s to %I', oid::regprocedure, ${service})
    from pg_proc
    where ${service} <> current_user and pronamespace = 'public'::regnamespace and proowner = quote_ident(current_user)::regrole
      and not has_function_privilege(${service}, oid, 'execute')
  union all
  select format('grant %s (%I) on %s to %I', privilege_type, attname, attrelid::regclass, ${service})
    from owned join pg_attribute on attrelid = owned.oid, aclexplode(attacl)
    where grantee = relowner and not has_column_privilege(${service}, attrelid, attnum, privilege_type)`;
