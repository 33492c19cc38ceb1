import { sql, type Kysely } from 'kysely';
import { OutageError } from '../../../lib/errors.ts';
import { isLockTimeout, isPooled } from '../postgres.ts';
import { withDirectConnection, type Db, type Trx } from '../database.ts';
import { limitLockWait } from '../locks.ts';
import { declaredBy, loadMigrations, type LargeIndex, type Migrations } from './migrations.ts';
import { becomeOwner, sessionAsOwner } from '../roles/roles.ts';
import { cancelledBy } from '../server-sessions.ts';
import { allRows, run } from '../statement.ts';
import type { Logger } from 'pino';
import { repeatInBackground } from '../../../lib/repeat.ts';

interface IndexProgress {
  readonly index: string;
  /** What Postgres does now, such as `building index: scanning table`. */
  readonly phase: string;
  /** Of this phase; undefined if Postgres does not say. */
  readonly percent: number | undefined;
}

export interface BuildOptions {
  /** Cancels the build. Finished indexes stay; the next call continues. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the progress every ten seconds. */
  readonly onProgress?: (progress: IndexProgress) => void;
  /** Whether a pooler may share the sessions of the database. Asked when there is something to build. */
  readonly isPooled?: () => Promise<boolean>;
  /** The migrations that declare the indexes, if not those of this program. */
  readonly migrations?: Migrations | undefined;
}

const PROGRESS_INTERVAL_MS = 10_000;

/** How long the short steps wait for a lock: everybody else who stores queues behind them meanwhile. */
const LOCK_WAIT_MS = 300;

/**
 * Builds the indexes that the applied migrations declare and that do not exist, while others store and read, as the
 * owner of the tables. What a crash has left half built is dropped and built again. Resolves with the names of the
 * indexes that are new, with `busy` if another process is building them, or with `pooled` if that needs its own session. Throws the signal's reason if it fires, and an
 * OutageError if a table is in use: it can be repeated.
 */
export async function buildIndexes(
  db: Db,
  options: BuildOptions = {},
): Promise<readonly string[] | 'busy' | 'pooled'> {
  const migrations = options.migrations ?? (await loadMigrations());
  const wanted = Object.values(migrations).flatMap((migration) => declaredBy(migration).indexes);
  const missing: LargeIndex[] = [];
  for (const index of wanted) if (!(await isBuilt(db, index))) missing.push(index);
  if (missing.length === 0) return [];
  // Nobody builds within a transaction while others store, and the role of a session would get to others with it.
  if ((await options.isPooled?.()) === true) return 'pooled';
  let isOnlyBuilder = false;
  try {
    return await db.transaction().execute(async (guard) => {
      await becomeOnlyBuilder(guard);
      isOnlyBuilder = true;
      return sessionAsOwner(db, (connection) =>
        cancelledBy(options.signal, db, connection, () => buildAll(db, connection, missing, options)),
      );
    });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    if (!isOnlyBuilder) return 'busy';
    throw new OutageError('the table of an index is in use', { cause: error });
  }
}

/**
 * Locks a table that nobody else locks so, until the transaction ends. Fails at once if another does. It gets neither a transaction id nor a snapshot,
 * so that it keeps no row from being vacuumed, and building does not wait for it.
 */
async function becomeOnlyBuilder(guard: Trx): Promise<void> {
  await becomeOwner(guard);
  await run(guard)`select set_config('idle_in_transaction_session_timeout', '0', true)`;
  await run(guard)`lock table schema_compatibility in share update exclusive mode nowait`;
}

async function buildAll(
  db: Db,
  connection: Db,
  indexes: readonly LargeIndex[],
  { signal, onProgress }: BuildOptions,
): Promise<string[]> {
  const stopReporting = await reportProgress(db, connection, onProgress);
  // Limits of the server are meant for queries.
  await run(connection)`
    select set_config(name, '0', false) from unnest(array['statement_timeout', 'lock_timeout']) as name`;
  try {
    for (const index of indexes) {
      signal?.throwIfAborted();
      await build(connection, index);
      const { table, replaces } = index;
      if (replaces !== undefined)
        await quickly(connection, sql`drop index if exists ${sql.id(`${table}_${replaces}`)}`);
    }
  } finally {
    stopReporting();
  }
  return [...new Set(indexes.map(nameOf))];
}

/** Builds an index within its migration if its table has no rows, as that of a new database. */
export async function buildIfEmpty(db: Kysely<unknown>, index: LargeIndex): Promise<void> {
  const { table, definition, replaces } = index;
  const { rows } = await sql`select from ${sql.id(table)} limit 1`.execute(db);
  if (rows.length > 0) return;
  await sql`create index if not exists ${sql.id(nameOf(index))} on ${sql.id(table)} using ${sql.raw(definition)}`.execute(
    db,
  );
  if (replaces !== undefined) await sql`drop index if exists ${sql.id(`${table}_${replaces}`)}`.execute(db);
}

async function build(connection: Db, index: LargeIndex): Promise<void> {
  const { table, suffix, definition } = index;
  const name = nameOf(index);
  if (!(await isPartitioned(connection, table))) {
    await buildConcurrently(connection, table, name, definition);
    return;
  }
  await quickly(
    connection,
    sql`create index if not exists ${sql.id(name)} on only ${sql.id(table)} using ${sql.raw(definition)}`,
  );
  // A partition that is created meanwhile gets its index with the others of the table.
  for (;;) {
    const [partition] = await partitionsWithout(connection, table, name);
    if (partition === undefined) return;
    const part = `${partition}_${suffix}`;
    await buildConcurrently(connection, partition, part, definition);
    await quickly(connection, sql`alter index ${sql.id(name)} attach partition ${sql.id(part)}`);
  }
}

async function buildConcurrently(connection: Db, table: string, name: string, definition: string) {
  const rows = await allRows<{ valid: boolean }>(connection)`
    select indisvalid as valid from pg_index where indexrelid = to_regclass(${name})`;
  if (rows[0]?.valid === true) return;
  if (rows.length > 0) await run(connection)`drop index concurrently ${sql.id(name)}`;
  await run(connection)`
    create index concurrently ${sql.id(name)} on ${sql.id(table)} using ${sql.raw(definition)}`;
}

/** Runs a statement that takes no time once it has its locks. */
async function quickly(connection: Db, statement: ReturnType<typeof sql>): Promise<void> {
  await connection.transaction().execute(async (trx) => {
    await limitLockWait(trx, LOCK_WAIT_MS);
    await statement.execute(trx);
  });
}

const nameOf = ({ table, suffix }: LargeIndex) => `${table}_${suffix}`;

/** Whether the index exists, on all partitions if there are any, and the one that it replaces is gone. */
async function isBuilt(db: Db, index: LargeIndex): Promise<boolean> {
  const { table, replaces } = index;
  const name = nameOf(index);
  const found = await allRows(db)`
    select from pg_index join pg_class on pg_class.oid = indexrelid
    where indexrelid = to_regclass(${name}) and (indisvalid or relkind = 'I') and to_regclass(${table}::text || '_' || ${replaces ?? null}) is null`;
  return found.length > 0 && (await partitionsWithout(db, table, name)).length === 0;
}

/** The partitions of a table that have no part of this index, the last month first. */
async function partitionsWithout(db: Db, table: string, index: string): Promise<readonly string[]> {
  const rows = await allRows<{ name: string }>(db)`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = to_regclass(${table}) and not exists (
      select from pg_inherits as part join pg_index on indexrelid = part.inhrelid
      where part.inhparent = to_regclass(${index}) and indrelid = pg_class.oid
    )
    order by relname desc`;
  return rows.map(({ name }) => name);
}

async function isPartitioned(db: Db, table: string): Promise<boolean> {
  const rows = await allRows(db)`
    select from pg_class where oid = to_regclass(${table}) and relkind = 'p'`;
  return rows.length > 0;
}

/** Reports what the connection builds, until the returned function is called. */
async function reportProgress(
  db: Db,
  connection: Db,
  onProgress: BuildOptions['onProgress'] = () => undefined,
): Promise<() => void> {
  const rows = await allRows<{ pid: number }>(connection)`select pg_backend_pid() as pid`;
  const report = async () => {
    const found = await allRows<{ index: string; phase: string; percent: number | null }>(db)`
      select index_relid::regclass::text as index, phase,
        round(100.0 * case when blocks_total > 0 then blocks_done::numeric / blocks_total
          when tuples_total > 0 then tuples_done::numeric / tuples_total end)::int as percent
      from pg_stat_progress_create_index where pid = ${rows[0]?.pid}`;
    for (const { percent, ...progress } of found) onProgress({ ...progress, percent: percent ?? undefined });
  };
  // Only shown: the building does not depend on it.
  const timer = setInterval(() => void report().catch(() => undefined), PROGRESS_INTERVAL_MS);
  return () => clearInterval(timer);
}

interface IndexUpkeep {
  readonly db: Db;
  readonly databaseUrl: string;
  /** A way past the pooler, if there is one. */
  readonly directUrl: string | undefined;
  readonly logger: Logger;
}

/** Another process may die while it builds, and a table that is in use becomes free. */
const RETRY_INTERVAL_MS = 60_000;

const DONE_INTERVAL_MS = 24 * 60 * 60 * 1000;

const POOLED =
  'indexes are missing and cannot be built through a pooler, so searches are slow: set DATABASE_DIRECT_URL';

/** Builds the missing indexes of large tables in the background, until they exist. */
export function startIndexBuilding(
  { db, databaseUrl, directUrl, logger }: IndexUpkeep,
  started: AsyncDisposableStack,
): void {
  const stopping = new AbortController();
  const options = {
    signal: stopping.signal,
    onProgress: (progress: object) => logger.info(progress, 'building an index'),
    isPooled: () => isPooled(directUrl ?? databaseUrl),
  };
  let isDone = false;
  const work = async () => {
    isDone = false;
    const built = await withDirectConnection(directUrl, db, (direct) => buildIndexes(direct, options));
    isDone = built !== 'busy';
    if (built === 'pooled') logger.warn(POOLED);
    else if (built !== 'busy' && built.length > 0) logger.info({ built }, 'indexes built');
  };
  const pauseMs = () => (isDone ? DONE_INTERVAL_MS : RETRY_INTERVAL_MS);
  const failure = 'indexes were not built; building is retried';
  repeatInBackground({ part: 'building of indexes', failure, pauseMs, work, stopping }, logger, started);
}
