import { sql } from 'kysely';
import type { Db } from './database.ts';
import { OWNER, READER } from './roles.ts';

/** The rights of the database roles, as far as they weaken the protection of what is stored. */
export interface RoleState {
  /** The role that this program logs in as. */
  readonly service: string;
  readonly serviceIsSuperuser: boolean;
  /** `xiq_owner` owns the tables. If not, the service's own role does, and could remove their guards. */
  readonly hasOwner: boolean;
  /** Rights of `xiq_reader` that let it do more than read, in words. */
  readonly readerRights: readonly string[];
}

/** Reads the rights of the roles, and changes none. */
export async function readRoleState(db: Db): Promise<RoleState> {
  const { rows } = await sql<{
    service: string;
    serviceIsSuperuser: boolean;
    hasOwner: boolean;
    createsTemporary: boolean;
    locks: boolean;
    writesObjects: boolean;
    isUnlimited: boolean;
  }>`
    select session_user as service, service.rolsuper as "serviceIsSuperuser",
        (select relowner = to_regrole(${OWNER}) from pg_class where oid = to_regclass('public.deliveries')) is true
          as "hasOwner",
        has_database_privilege(reader.oid, current_database(), 'temporary') as "createsTemporary",
        has_function_privilege(reader.oid, 'pg_advisory_lock(bigint)', 'execute') as "locks",
        has_function_privilege(reader.oid, 'lo_create(oid)', 'execute') as "writesObjects",
        reader.rolconnlimit < 0 as "isUnlimited"
      from pg_roles service, pg_roles reader
      where service.rolname = session_user and reader.rolname = ${READER}`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error(`the role ${READER} does not exist`);
  const { service, serviceIsSuperuser, hasOwner } = row;
  const readerRights = [
    row.createsTemporary && 'temporary tables',
    row.locks && 'advisory locks',
    row.writesObjects && 'large objects',
    row.isUnlimited && 'unlimited connections',
  ].filter((right) => right !== false);
  return { service, serviceIsSuperuser, hasOwner, readerRights };
}
