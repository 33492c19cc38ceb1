import { sql, type RawBuilder } from 'kysely';
import { Migrator } from 'kysely/migration';
import { DatabaseError } from 'pg';
import { OutageError, UsageError } from '../../../lib/errors.ts';
import { isForbidden, isLockTimeout } from '../postgres.ts';
import { refuseEncoding, type Db, type Trx } from '../database.ts';
import { limitLockWait } from '../locks.ts';
import { ADOPTION, adopt, isOfBefore } from './adopt.ts';
import { declaredBy, loadMigrations, type Migrations } from './migrations.ts';
import { asOwner, checkOwner, checkReader, grantToService } from '../roles/roles.ts';
import { cancelledBy, describeSession, findHolders } from '../server-sessions.ts';
import { allRows, onlyRow, run } from '../statement.ts';

/** How long a migration waits for a table that another session uses; everybody else queues behind it meanwhile. */
const LOCK_WAIT_MS = 2_000;

/** How long it waits for another migrator, which makes nobody else wait. */
const MIGRATOR_WAIT_MS = 30_000;

/**
 * Applies the pending migrations in one transaction and under a lock, so that several processes may start at once, as the
 * owner of the tables, and grants the service's role its rights: that of this connection unless named. Resolves with the names of the migrations applied; tables of before the baseline are adopted first.
 * Throws an error that names the failed migration,
 * an OutageError that names the sessions that are in the way, another migrator included, or the signal's reason: nothing
 * was changed, and it can be repeated. Throws a UsageError if an administrator has to create the reading role, or if a
 * newer program has changed the tables in a way that this one may not run with.
 */
export async function migrateStore(
  db: Db,
  signal?: AbortSignal,
  migrations?: Migrations,
  service?: string,
): Promise<string[]> {
  const known = migrations ?? (await loadMigrations());
  try {
    await refuseEncoding(db);
    await checkReader(db);
    await createLockTable(db);
    return await asOwner(db, (trx) =>
      cancelledBy(signal, db, trx, async () => {
        const applied = await applyMigrations(trx, known);
        // In the same transaction, so that anyone who sees a new table may read it.
        await grantToService(trx, service);
        return applied;
      }),
    );
  } catch (error) {
    if (isBlocked(error)) throw new OutageError(await describeBlocked(db), { cause: error });
    throw await explainRights(db, error);
  }
}

const isBlocked = (error: unknown) =>
  isLockTimeout(error) || (error instanceof Error && isLockTimeout(error.cause));

/** What the role of this connection may not do, as a UsageError that says who can help. Other errors stay as they are. */
async function explainRights(db: Db, error: unknown): Promise<unknown> {
  if (!isForbidden(error)) return error;
  const { name, owner } = await onlyRow<{ name: string; owner: string | null }>(db)`
    select quote_ident(current_user) as name,
      (select pg_get_userbyid(relowner) from pg_class
        where oid = to_regclass('kysely_migration') and not pg_has_role(relowner, 'usage')) as owner`;
  if (owner !== null) {
    const message = `The tables belong to ${owner}, and ${name} may not use them. Create the roles (see "Database roles" in docs/operating.md), or use the owner in DATABASE_URL.`;
    return new UsageError(message, { cause: error });
  }
  // From Postgres 15 on, not every role may create tables in it.
  if (!/\bschema public\b/.test(error.message)) return error;
  const message = `The tables cannot be created. Ask a database administrator to run: grant create on schema public to ${name}`;
  return new UsageError(message, { cause: error });
}

async function applyMigrations(trx: Trx, known: Migrations): Promise<string[]> {
  await limitLockWait(trx, MIGRATOR_WAIT_MS);
  await run(trx)`select from kysely_migration_lock for update`;
  await limitLockWait(trx, LOCK_WAIT_MS);
  const adopted = (await isOfBefore(trx)) ? [ADOPTION] : [];
  const { pending } = await stateOf(trx, known);
  if (pending.length > 0) await checkOwner(trx);
  if (adopted.length > 0) await adopt(trx, known);
  const state = await stateOf(trx, known);
  checkCompatible(state);
  // The migrator itself refuses a database with migrations that it does not know.
  if (state.unknown.length > 0) return [];
  const { error, results = [] } = await new Migrator({
    db: trx,
    provider: { getMigrations: async () => ({ ...known }) },
  }).migrateToLatest();
  if (error !== undefined) {
    const failed = results.find(({ status }) => status === 'Error')?.migrationName;
    const message = `migration ${failed ?? '(none started)'} failed; the database is unchanged`;
    throw new Error(message, { cause: error });
  }
  if (results.length > 0 || adopted.length > 0) await recordCompatibility(trx, known);
  return [...adopted, ...results.map(({ migrationName }) => migrationName)];
}

/** Throws a UsageError if a newer program has applied migrations that this program may not run with. */
export function checkCompatible({ pending, unknown, incompatible }: MigrationState): void {
  if (incompatible.length > 0) {
    throw new UsageError(
      `The database belongs to a newer version of xiq-sink, which applied ${incompatible.join(', ')}. Use that version.`,
    );
  }
  if (unknown.length > 0 && pending.length > 0) {
    throw new UsageError(
      `The database has migrations from another version of xiq-sink (${unknown.join(', ')}), but not ${pending.join(', ')} from this one. Use a version that has all of them.`,
    );
  }
}

/** Writes down what each migration means for programs that do not have it. */
async function recordCompatibility(trx: Trx, known: Migrations): Promise<void> {
  for (const [name, migration] of Object.entries(known)) {
    const { olderProgramsMayRun } = declaredBy(migration);
    await run(trx)`
      insert into schema_compatibility values (${name}, ${olderProgramsMayRun}) on conflict do nothing`;
  }
}

/**
 * Creates the table of Kysely's lock, and its row. A row is locked instead of Kysely's own advisory lock
 * (`RowLockAdapter`), which every role that may log in can take.
 */
async function createLockTable(db: Db): Promise<void> {
  const tables = await asOwner(
    db,
    (trx) => allRows(trx)`select from pg_tables
      where tablename = 'kysely_migration_lock' and schemaname = any(current_schemas(false))`,
  );
  if (tables.length === 0) {
    // Without a lock, two processes may both find no table, and one of them fails.
    await asOwner(db, async (trx) => {
      await checkOwner(trx);
      await run(trx)`create table if not exists kysely_migration_lock (
        id varchar(255) primary key, is_locked integer not null default 0)`;
    }).catch((error: unknown) => {
      if (!(error instanceof DatabaseError) || !DUPLICATES.has(error.code ?? '')) throw error;
    });
  }
  await asOwner(db, (trx) =>
    sql`insert into kysely_migration_lock (id) values ('migration_lock') on conflict do nothing`.execute(trx),
  );
}

/** SQLSTATE unique_violation, duplicate_table and duplicate_object: another process has created the table meanwhile. */
const DUPLICATES: ReadonlySet<string> = new Set(['23505', '42P07', '42710']);

async function describeBlocked(db: Db): Promise<string> {
  const tables = sql`select oid from pg_class where relnamespace = current_schema()::regnamespace`;
  const holders = await findHolders(db, tables, LOCK_WAIT_MS / 1_000);
  const names = holders.map(describeSession).join('; ') || 'a session that has ended since';
  return `migrations are waiting for tables used by others: ${names}`;
}

export type MigrationState = Awaited<ReturnType<typeof stateOf>>;

/** Reads which migrations were applied, and applies none. */
export async function readMigrationState(db: Db): Promise<MigrationState> {
  const known = await loadMigrations();
  // As the owner: the service has its rights only after the migrations.
  return asOwner(db, (connection) => stateOf(connection, known)).catch(async (error: unknown) => {
    throw await explainRights(db, error);
  });
}

async function stateOf(db: Db, known: Migrations) {
  const names = Object.keys(known).toSorted();
  // Tables of before the baseline have yet to be adopted: all migrations are pending.
  const executed = (await isOfBefore(db))
    ? []
    : await column(db, 'kysely_migration', sql`select name from kysely_migration order by name`);
  const unknown = executed.filter((name) => !names.includes(name));
  const additive = sql`select migration as name from schema_compatibility where older_programs_may_run`;
  const allowed = unknown.length === 0 ? [] : await column(db, 'schema_compatibility', additive);
  return {
    applied: names.filter((name) => executed.includes(name)),
    /** Migrations of this program that are not applied yet. */
    pending: names.filter((name) => !executed.includes(name)),
    /** Migrations applied by a newer version of this program. */
    unknown,
    /** Those of them that this program may not run with. */
    incompatible: unknown.filter((name) => !allowed.includes(name)),
  };
}

/** The names that a query of a table returns; none if the table does not exist. */
async function column(db: Db, table: string, names: RawBuilder<unknown>): Promise<string[]> {
  const found = await allRows(db)`select where to_regclass(${table}) is not null`;
  if (found.length === 0) return [];
  return (await allRows<{ name: string }>(db)`${names}`).map(({ name }) => name);
}
