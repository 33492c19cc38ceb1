import type { Db } from '../database.ts';
import { allRows, firstRow, run } from '../statement.ts';
import { READER } from './roles.ts';

/** The login of one person begins so, and ends with the name of the person, as the operator log has it. */
const PERSONAL = `${READER}_`;

/** A name of Postgres has at most 63 bytes. */
const NAME_BYTES = 63;

/** The login of a person. Undefined if the name is too long for one. */
export function personalLogin(person: string): string | undefined {
  const login = PERSONAL + person;
  return Buffer.byteLength(login) > NAME_BYTES ? undefined : login;
}

/** Whether the service may make readers: an administrator has created the roles, and with them the functions of readers.sql. */
export async function canKeepReaders(db: Db): Promise<boolean> {
  return (await firstRow(db)`select where to_regnamespace('xiq_roles') is not null`) !== undefined;
}

/** Creates or repairs a read-only login. Without a password, the login keeps its current one. */
export async function keepReader(db: Db, login: string, password?: string): Promise<void> {
  await run(db)`select xiq_roles.keep_reader(${login}, ${password ?? null})`;
}

/** Ends the sessions of a person's login and removes it. */
export async function dropReader(db: Db, login: string): Promise<void> {
  await run(db)`select xiq_roles.drop_reader(${login})`;
}

/** The logins of persons, each with its sessions now. */
export async function listReaders(db: Db): Promise<readonly { person: string; sessions: number }[]> {
  return allRows<{ person: string; sessions: number }>(db)`
    select substr(rolname, ${PERSONAL.length + 1}) as person,
        (select count(*)::int from pg_stat_activity where usesysid = pg_roles.oid) as sessions
      from pg_roles where starts_with(rolname, ${PERSONAL}) order by 1`;
}

/** A login that may only read, and what of it is not as this program made it. */
export interface ReaderChange {
  readonly login: string;
  readonly changes: readonly string[];
}

/** Compares settings, limits, attributes and memberships of all readers. None where no administrator has created the roles. */
export async function findReaderChanges(db: Db): Promise<readonly ReaderChange[]> {
  if (!(await canKeepReaders(db))) return [];
  return allRows<ReaderChange>(db)`select * from xiq_roles.reader_changes()`;
}
