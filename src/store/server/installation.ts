import type { Db } from './database.ts';
import { firstRow } from './statement.ts';

interface StoredInstallation {
  /** Made once, and part of every backup. */
  readonly id: string;
  /** The server and the database in it, as Postgres counts them: another one in a restored dump. Null: not allowed. */
  readonly system: string | null;
  readonly database: string;
}

/** Reads the installation of this database. The first call makes its id. */
export async function readInstallation(db: Db): Promise<StoredInstallation> {
  await db
    .insertInto('installation')
    .defaultValues()
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const installation = await findInstallation(db);
  if (installation === undefined) throw new Error('the table installation is empty');
  return installation;
}

/** Reads the installation of this database. Undefined if nothing has been stored in it yet. */
export async function findInstallation(db: Db): Promise<StoredInstallation | undefined> {
  return firstRow<StoredInstallation>(db)`
    select id::text as id, current_database() as database,
      case when has_function_privilege('pg_control_system()', 'execute') then
        (select system_identifier from pg_control_system())
          || '/' || (select oid from pg_database where datname = current_database())
      end as system
    from installation`;
}
