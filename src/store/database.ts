import { Socket } from 'node:net';
import { Kysely, PostgresAdapter, PostgresDialect, sql } from 'kysely';
import type { Transaction } from 'kysely';
import { OutageError } from '../errors.ts';
import { CONNECTION_LIFETIME_SECONDS, createPool } from '../postgres.ts';
import type { PoolOptions } from '../postgres.ts';
import type { Tables } from './tables.ts';

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

/** The report of a process is given up early: the next one follows soon. */
const REPORTING_LIMITS: StoringLimits = { statementMs: 5_000, silenceMs: 20_000 };

/** All pages share few connections: one that waits for a locked table gives its own up before others miss it. */
const CONSOLE_LIMITS: StoringLimits = { ...STORING_LIMITS, lockMs: 2_000 };

/** Connections of each pool. Console requests share theirs, exports included. */
const STORING_CONNECTIONS = 2;
const SEALING_CONNECTIONS = 3;
const FORWARDING_CONNECTIONS = 4;
const CONSOLE_CONNECTIONS = 6;
const INSPECTING_CONNECTIONS = 4;

/**
 * Opens the database for storing, which can always be repeated: nothing waits longer than these limits. Not for
 * migrations and partition maintenance, which may take long.
 */
export function openStoringDatabase(
  databaseUrl: string,
  onError: OnError,
  limits: StoringLimits = STORING_LIMITS,
): Db {
  return openLimited(databaseUrl, onError, STORING_CONNECTIONS, limits);
}

/** Opens the database for forwarding, under the limits of storing: forwarding, too, can always be repeated. */
export function openForwardingDatabase(databaseUrl: string, onError: OnError): Db {
  return openLimited(databaseUrl, onError, FORWARDING_CONNECTIONS, STORING_LIMITS);
}

/** Opens the database for extending the log: one connection, under the limits of storing. */
export function openLogDatabase(databaseUrl: string, onError: OnError): Db {
  return openLimited(databaseUrl, onError, 1, STORING_LIMITS);
}

/** Opens the database for the seal, under the limits of storing. */
export function openSealingDatabase(databaseUrl: string, onError: OnError): Db {
  return openLimited(databaseUrl, onError, SEALING_CONNECTIONS, STORING_LIMITS);
}

/** Opens the database for the reports of a process: one connection, which nothing else waits for. */
export function openReportingDatabase(databaseUrl: string, onError: OnError): Db {
  return openLimited(databaseUrl, onError, 1, REPORTING_LIMITS);
}

/** Opens the database for the console, under the limits of storing, and a shorter one for locks: no page waits longer. */
export function openConsoleDatabase(databaseUrl: string, onError: OnError): Db {
  return openLimited(databaseUrl, onError, CONSOLE_CONNECTIONS, CONSOLE_LIMITS);
}

/** Opens the database for inspection by a person. No query takes longer than `limitMs`. */
export function openInspectingDatabase(databaseUrl: string, onError: OnError, limitMs: number): Db {
  return openLimited(databaseUrl, onError, INSPECTING_CONNECTIONS, {
    statementMs: limitMs,
    silenceMs: limitMs,
  });
}

function openLimited(
  databaseUrl: string,
  onError: OnError,
  max: number,
  { statementMs, silenceMs, lockMs }: StoringLimits,
): Db {
  const options = {
    connectionString: databaseUrl,
    max,
    settings: {
      statement_timeout: statementMs,
      ...(lockMs === undefined ? {} : { lock_timeout: lockMs }),
      // The server also releases the row locks of a session that it no longer hears from.
      idle_in_transaction_session_timeout: silenceMs,
    },
    maxLifetimeSeconds: CONNECTION_LIFETIME_SECONDS,
    stream: () => createSocket(silenceMs),
  };
  return openPool(options, onError);
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

/** Runs work in a savepoint: when it throws, its changes are undone, and the transaction can go on. */
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

/** Rejects when the database does not answer. */
export async function checkDatabase(db: Db): Promise<void> {
  await sql`select 1`.execute(db);
}

/** The oldest major version of Postgres that the program works with. */
export const OLDEST_POSTGRES = 14;

/** The version and the state of a database server. */
export interface ServerFacts {
  /** Such as 17 of "17.4". */
  readonly majorVersion: number;
  readonly version: string;
  /** Nothing can be stored: the server is a standby, or is set to read-only. */
  readonly isReadOnly: boolean;
  /** Size of the database on the server's disk, in bytes. */
  readonly bytes: number;
}

/** Reads the version and the state of the server. */
export async function readServerFacts(db: Db): Promise<ServerFacts> {
  const { rows } = await sql<{ number: string; version: string; readOnly: boolean; bytes: string }>`
    select current_setting('server_version_num') as number, current_setting('server_version') as version,
      pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as "readOnly",
      pg_database_size(current_database()) as bytes`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no row for its version and size');
  return {
    majorVersion: Math.floor(Number(row.number) / 10_000),
    version: row.version,
    isReadOnly: row.readOnly,
    bytes: Number(row.bytes),
  };
}

/** The server's clock, in epoch milliseconds. */
export async function readServerTime(db: Db): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no row for its time');
  return row.now.getTime();
}
