import { Client, DatabaseError, Pool } from 'pg';
import type { PoolConfig } from 'pg';

export type { Pool } from 'pg';

/** A connection, or a pool of them. */
export type Connection = Pick<Client, 'query'>;

/** What differs between the pools of this program. */
export type PoolOptions = PoolConfig & {
  readonly connectionString: string;
  /** The largest number of connections. */
  readonly max: number;
};

/**
 * Creates a pool of connections to Postgres that survives broken connections: dead ones are noticed by keep-alive, and
 * `onError` receives the errors of connections that no query is using. Connections are opened when they are needed;
 * `end()` closes them.
 */
export function createPool(options: PoolOptions, onError: (error: Error) => void): Pool {
  const pool = new Pool({
    application_name: 'xiq-sink',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...options,
  });
  // Without listeners, a connection that breaks between two queries would end the program.
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

/**
 * The longest life of a pooled connection. A server that became a standby keeps its connections: new ones find the
 * server that took over.
 */
export const CONNECTION_LIFETIME_SECONDS = 30;

/** Runs work on a single connection of its own, and closes it. Throws when it cannot connect within 10 seconds. */
export async function withClient<T>(databaseUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'xiq-sink',
    connectionTimeoutMillis: 10_000,
  });
  // A connection that breaks between two queries would end the program; the next query fails by itself.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Host and port of a database server, without its credentials. */
export function serverName(databaseUrl: string): string {
  const { host, port } = new Client({ connectionString: databaseUrl });
  return `${host}:${port}`;
}

/** SQLSTATE lock_not_available: how a statement ends that runs into `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Whether a statement failed because it waited for a lock longer than `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE;
