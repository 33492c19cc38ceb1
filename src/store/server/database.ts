import { Socket } from 'node:net';
import { Kysely, PostgresAdapter, PostgresDialect, sql, type Transaction } from 'kysely';
import { OutageError, UsageError } from '../../lib/errors.ts';
import { failuresIn } from '../../lib/failure-log.ts';
import {
  CONNECTION_LIFETIME_SECONDS,
  createPool,
  SESSION,
  type Client,
  type PoolOptions,
} from './postgres.ts';
import type { Tables } from './schema/tables.ts';
import type { Logger } from 'pino';
import { closeLogged } from '../../lib/close-logged.ts';

/** The database, or one transaction in it. */
export type Db = Kysely<Tables>;
export type Trx = Transaction<Tables>;

/** Receives the errors of connections that no query is using. */
type OnError = (error: Error) => void;

/** Opens the database. Connections are opened when they are needed; `destroy()` closes them. */
export function openDatabase(databaseUrl: string, onError: OnError): Db {
  return openPool({ connectionString: databaseUrl, max: 5 }, onError);
}

/** Opens the database for some work, and closes it afterwards. */
export async function withDatabase<T>(databaseUrl: string, work: (db: Db) => Promise<T>): Promise<T> {
  const db = openDatabase(databaseUrl, () => undefined);
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

/** Runs work that needs its own session for several transactions, bypassing a pooler if there is an address for that. */
export async function withDirectConnection<T>(
  directUrl: string | undefined,
  db: Db,
  work: (direct: Db) => Promise<T>,
): Promise<T> {
  return directUrl === undefined ? work(db) : withDatabase(directUrl, work);
}

/** When a connection is given up, in milliseconds. */
export interface StoringLimits {
  /** The server cancels a statement that takes longer, for example because another session holds a lock. */
  readonly statementMs: number;
  /** The socket is closed after so long without a byte: a network that drops packets would block TCP for 15 minutes. */
  readonly silenceMs: number;
  /** The server gives a statement up that waits longer for a lock. Undefined: it waits as long as a statement may take. */
  readonly lockMs?: number;
}

const STORING_LIMITS: StoringLimits = { statementMs: 45_000, silenceMs: 60_000 };

interface Pool {
  readonly max: number;
  readonly limits: StoringLimits;
  readonly lifetimeSeconds?: number;
}

/** The connections of each pool, and their limits. */
const POOLS = {
  storing: { max: 2, limits: STORING_LIMITS },
  forwarding: { max: 4, limits: STORING_LIMITS },
  log: { max: 1, limits: STORING_LIMITS },
  /** For what the parts of a process share. */
  service: { max: 3, lifetimeSeconds: 120, limits: STORING_LIMITS },
  sealing: { max: 3, limits: STORING_LIMITS },
  /** Its sessions are silent while archived events are loaded for them. */
  verifying: { max: 3, limits: { statementMs: 10 * 60_000, silenceMs: 15 * 60_000 } },
  /**
   * A report is given up early: the next one follows soon. Its connections live longer: to open one every 30 s in each
   * process was a tenth of the commits of a service at rest.
   */
  reporting: { max: 1, lifetimeSeconds: 120, limits: { statementMs: 5_000, silenceMs: 20_000 } },
  /** Pages share them, exports included: one that waits for a locked table gives its own up before others miss it. */
  console: { max: 6, limits: { ...STORING_LIMITS, lockMs: 2_000 } },
  /** For a person who inspects. */
  inspecting: { max: 4, limits: STORING_LIMITS },
} satisfies Readonly<Record<string, Pool>>;

export type PoolName = keyof typeof POOLS;

/**
 * Opens the database for work that can always be repeated: nothing waits longer than the limits. Not for migrations and
 * partition maintenance, which may take long.
 */
export function openLimited(
  pool: PoolName,
  databaseUrl: string,
  onError: OnError,
  limits: StoringLimits = POOLS[pool].limits,
): Db {
  return openPool({ connectionString: databaseUrl, ...limitedBy(pool, limits) }, onError);
}

function limitedBy(pool: PoolName, limits: StoringLimits): Omit<PoolOptions, 'connectionString'> {
  const { statementMs, silenceMs, lockMs } = limits;
  const { max, lifetimeSeconds = CONNECTION_LIFETIME_SECONDS }: Pool = POOLS[pool];
  return {
    max,
    settings: {
      statement_timeout: statementMs,
      ...(lockMs === undefined ? {} : { lock_timeout: lockMs }),
      // The server also releases the row locks of a session that it no longer hears from.
      idle_in_transaction_session_timeout: silenceMs,
    },
    maxLifetimeSeconds: lifetimeSeconds,
    // Work that looks every few seconds keeps its connection; one that is idle for longer must not be taken for a silent one.
    idleTimeoutMillis: (silenceMs * 3) / 4,
    stream: () => createSocket(silenceMs),
  };
}

/** Some work reads by a second connection while its first one is in a transaction. */
const UNLIMITED = { max: 3 };

/** What a session is given costs too much to give it every half minute. */
const KEPT_SECONDS = 10 * 60;

/**
 * Opens connections that keep for minutes what `onConnect` gives their sessions. Without a pool, nothing limits how long
 * their statements take.
 */
export function openKept(databaseUrl: string, onConnect: (client: Client) => void, pool?: PoolName): Db {
  const options = {
    connectionString: databaseUrl,
    idleTimeoutMillis: KEPT_SECONDS * 1000,
    ...(pool === undefined ? UNLIMITED : limitedBy(pool, POOLS[pool].limits)),
    maxLifetimeSeconds: KEPT_SECONDS,
  };
  const kept = createPool(options, () => undefined);
  kept.on('connect', (client) => {
    onConnect(client);
  });
  return new Kysely<Tables>({ dialect: new RowLockDialect({ pool: kept }) });
}

/** A socket that is destroyed after so long without traffic: every query that waits for an answer on it fails. */
function createSocket(silenceMs: number): Socket {
  const socket = new Socket();
  socket.setTimeout(silenceMs, () => {
    socket.destroy(new OutageError(`the database sent nothing for ${silenceMs} ms`));
  });
  return socket;
}

function openPool(options: PoolOptions, onError: OnError): Db {
  return new Kysely<Tables>({ dialect: new RowLockDialect({ pool: createPool(options, onError) }) });
}

/** Kysely's own migration lock is an advisory lock, which every role that may log in can take: see `migrateStore`. */
class RowLockAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

class RowLockDialect extends PostgresDialect {
  override createAdapter(): RowLockAdapter {
    return new RowLockAdapter();
  }
}

/** SQLSTATE query_canceled: how a statement ends that runs into the statement time-out. */
const QUERY_CANCELED = '57014';

/**
 * Runs queries in a read-only transaction of their own, each for at most `milliseconds`. Undefined when the server
 * cancelled one of them for taking longer.
 */
export async function withinTime<T>(
  db: Db,
  milliseconds: number,
  work: (trx: Trx) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await db
      .transaction()
      .setAccessMode('read only')
      .execute(async (trx) => {
        await sql`select set_config('statement_timeout', ${String(Math.ceil(milliseconds))}, true)`.execute(
          trx,
        );
        return work(trx);
      });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === QUERY_CANCELED) return undefined;
    throw error;
  }
}

/** Runs work in a savepoint: when it throws, its changes are undone, and the transaction can continue. */
export async function inSavepoint<T>(trx: Trx, work: () => Promise<T>): Promise<T> {
  await sql`savepoint work`.execute(trx);
  try {
    const result = await work();
    await sql`release savepoint work`.execute(trx);
    return result;
  } catch (error) {
    // On a lost connection this fails too, and the first error is the one that says why.
    await sql`rollback to savepoint work`.execute(trx).catch(() => undefined);
    await sql`release savepoint work`.execute(trx).catch(() => undefined);
    throw error;
  }
}

/** The database answers, and accepts no changes. */
export class ReadOnlyError extends Error {}

/** Rejects when the database does not answer, and with a ReadOnlyError when it accepts no changes. */
export async function checkDatabase(db: Db): Promise<void> {
  const { rows } = await sql`select where current_setting('transaction_read_only') = 'on'`.execute(db);
  if (rows.length === 0) return;
  throw new ReadOnlyError(
    'the database is read-only (a standby, or default_transaction_read_only is on): no events, destination positions, logins or changes can be written',
  );
}

/** The oldest major version of Postgres that the program works with. */
export const OLDEST_POSTGRES = 14;

/** Reads the version and the state of the server. */
export async function readServerFacts(db: Db) {
  const { rows } = await sql<{
    number: string;
    version: string;
    readOnly: boolean;
    bytes: string;
    encoding: string;
    differing: string[];
  }>`
    select current_setting('server_version_num') as number, current_setting('server_version') as version,
      current_setting('server_encoding') as encoding, ${differingSettings} as differing,
      pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as "readOnly",
      pg_database_size(current_database()) as bytes`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no row for its version and size');
  return {
    /** Such as 17 of "17.4". */
    majorVersion: Math.floor(Number(row.number) / 10_000),
    version: row.version,
    /** Nothing can be stored: the server is a standby, or is set to read-only. */
    isReadOnly: row.readOnly,
    /** Size of the database on the server's disk. */
    bytes: Number(row.bytes),
    encoding: row.encoding,
    /** Settings that sessions of the program do not have as it relies on, as `name is value`. */
    differing: row.differing,
  };
}

/**
 * Postgres has `transaction_timeout` from version 17 on, so that not every session can set it. It would end a backup, an
 * export, a `verify`. The other time limits are those that the asking session has set for itself.
 */
const RELIED_UPON = { ...SESSION, transaction_timeout: 0 };

const differingSettings = sql`array(
  select format('%s is %s', name, setting) from pg_settings
    join json_each_text(${JSON.stringify(RELIED_UPON)}::json) as relied (name, value) using (name)
    where lower(setting) <> lower(value) and (name = 'transaction_timeout' or name not like '%timeout') order by name)`;

/** Throws a UsageError if texts of any language cannot be stored. */
export async function refuseEncoding(db: Db): Promise<void> {
  const { encoding } = await readServerFacts(db);
  if (encoding !== 'UTF8') throw new UsageError(`The database has the encoding ${encoding}. ${CREATE_AGAIN}`);
}

export const CREATE_AGAIN = `Create it again: create database NAME encoding 'UTF8' template template0`;

/** The server's clock, in epoch milliseconds. */
export async function readServerTime(db: Db): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no row for its time');
  return row.now.getTime();
}

/** Logs connections that broke between two queries: the next query opens a new one. */
export const logLostConnections = (logger: Logger) => (error: Error) =>
  failuresIn(logger).report(undefined, error, 'a database connection was lost');

/** Opens connections that a part has for itself, until everything is closed. */
export function openPartDatabase(
  part: string,
  pool: keyof typeof POOLS,
  { databaseUrl, logger }: { readonly databaseUrl: string; readonly logger: Logger },
  started: AsyncDisposableStack,
): Db {
  const db = openLimited(pool, databaseUrl, logLostConnections(logger));
  started.defer(closeLogged(logger, `database of ${part}`, () => db.destroy()));
  return db;
}
