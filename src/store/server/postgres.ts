import { callbackify } from 'node:util';
import { Client, DatabaseError, escapeLiteral, Pool } from 'pg';
import type { ClientConfig, PoolConfig, QueryResult } from 'pg';
import { acceptCopyData, isCopyData } from './postgres-copy.ts';
import { connectionOf, OptionalTlsClient } from './postgres-tls.ts';

export type { Client, Pool } from 'pg';

/** A connection, or a pool of them. */
export type Connection = Pick<Client, 'query'>;

export type PoolOptions = PoolConfig & {
  readonly connectionString: string;
  /** The largest number of connections. */
  readonly max: number;
  /** Beside those that every session has (`SESSION`). */
  readonly settings?: TransactionSettings;
  /** There is no pooler in between: each connection gets the settings once, for all of its transactions. */
  readonly isDirect?: boolean;
};

/**
 * Settings of Postgres, such as `statement_timeout`, for every transaction of a connection. A pooler such as pgbouncer
 * refuses them as parameters of the connection, and gives the next transaction to another session of the server.
 */
type TransactionSettings = Readonly<Record<string, string | number>>;

/**
 * What the statements of this program rely on, whatever the server, the database or the role is set to: how values are
 * printed, what a name means, which rows count, and that work has no limits but its own. Without JIT: it compiles for
 * up to 40 s what takes one second to run, and no time limit ends it meanwhile (Postgres 15 with its defaults, a chart
 * over 3 million events).
 */
export const SESSION = {
  datestyle: 'ISO, MDY',
  timezone: 'UTC',
  intervalstyle: 'postgres',
  extra_float_digits: 1,
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  search_path: 'public',
  row_security: 'on',
  default_transaction_isolation: 'read committed',
  statement_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  jit: 'off',
} as const satisfies TransactionSettings;

/**
 * Creates a pool of connections to Postgres that survives broken connections: dead ones are noticed by keep-alive, and
 * `onError` receives the errors of connections that no query is using. Connections are opened when they are needed;
 * `end()` closes them.
 */
export function createPool(
  { settings = {}, isDirect = false, connectionString: url, ...options }: PoolOptions,
  onError: (error: Error) => void,
): Pool {
  const { connectionString, isTlsOptional } = connectionOf(url);
  const pool = new Pool({
    connectionString,
    ...(isTlsOptional ? { Client: OptionalTlsClient } : {}),
    application_name: 'xiq-sink',
    pipeline: true,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...options,
  });
  // Without listeners, a connection that breaks between two queries would end the program.
  pool.on('error', onError);
  pool.on('connect', (client) => {
    client.on('error', onError);
    acceptCopyData(client);
    // The first query of the connection: if it fails, so do all others.
    if (isDirect) client.query(assign('set', { ...SESSION, ...settings })).catch(onError);
    else applySettings(client, settings);
  });
  return pool;
}

const assign = (how: 'set' | 'set local', settings: TransactionSettings) =>
  Object.entries(settings)
    .map(([name, value]) => `${how} ${name} = ${escapeLiteral(String(value))}`)
    .join('; ');

type RunQuery = (this: Client, text: string, values?: unknown[]) => Promise<QueryResult>;

/** What Postgres refuses to run in a transaction, and so runs with the settings of the session. */
const WITHOUT_TRANSACTION = /^\s*(?:vacuum|(?:create|drop) (?:database|index concurrently))\b/i;

type Callback = (error: unknown, result?: QueryResult) => void;

/**
 * Makes every transaction of a connection begin with these settings. A statement outside a transaction gets one of its
 * own, sent in the same packet: nothing takes a round trip more.
 */
function applySettings(client: Client, settings: TransactionSettings): void {
  const original: { readonly query: RunQuery } = client;
  const send = original.query;
  const run = (text: string, values?: unknown[]) => send.call(client, text, values);
  let assignments = assign('set local', { ...SESSION, ...settings });
  // The first query of the connection: thirteen settings need not go with each transaction then.
  setWithoutPooler(client, run).then(
    (isSet) => isSet && (assignments = assign('set local', settings)),
    // The connection is broken, which each statement on it finds.
    () => undefined,
  );
  /** Where a transaction names no isolation, its own setting comes too late: the transaction has begun with it. */
  const begin = (how: string) =>
    run(
      `${how}${/isolation level/i.test(how) ? '' : ` isolation level ${SESSION.default_transaction_isolation}`}; ${assignments}`,
    );

  async function runAlone(text: string, values?: unknown[]): Promise<QueryResult> {
    // All three are sent before the first is answered.
    const [begun, result, ended] = [begin('begin'), run(text, values), run('commit')];
    await Promise.allSettled([begun, result, ended]);
    await begun;
    await result;
    await ended;
    return result;
  }

  function query(text: string, values?: unknown[]): Promise<QueryResult> {
    if (isCopyData(values)) return run([assignments, text].filter(Boolean).join('; '), values);
    // Before the first query the status is unknown.
    const isInTransaction = ['T', 'E'].includes(client.getTransactionStatus() ?? 'I');
    if (isInTransaction || WITHOUT_TRANSACTION.test(text)) return run(text, values);
    if (/^(?:begin|start transaction)\b/i.test(text)) return begin(text);
    return assignments === '' ? run(text, values) : runAlone(text, values);
  }

  /** Ends when the server has ended a statement that failed: only then does a pooler give its session to another client. */
  let ending: PromiseWithResolvers<void> | undefined;
  const onEnded = () => {
    ending?.resolve();
    ending = undefined;
  };
  client.connection.on('errorMessage', () => (ending ??= Promise.withResolvers()));
  for (const event of ['readyForQuery', 'error', 'end']) client.connection.on(event, onEnded);

  Object.assign(client, {
    query(text: string, values?: unknown[], callback?: Callback) {
      // pg reports an error at once, and a pipelined statement would reach a session that is about to be another's.
      const answer =
        ending === undefined ? query(text, values) : ending.promise.then(() => query(text, values));
      // The pool's own queries come with one.
      return callback === undefined ? answer : callbackify(() => answer)(callback);
    },
  });
}

/**
 * Gives a connection the settings of `SESSION` once, for all its transactions, unless there is a pooler in between: that
 * gives each client its own process id, which differs from the server's process (`isPooled`). Returns whether it did.
 */
async function setWithoutPooler(client: Client, run: (text: string) => Promise<QueryResult>) {
  const { rowCount } = await run(
    `select set_config(key, value, false) from json_each_text(${escapeLiteral(JSON.stringify(SESSION))})
     where pg_backend_pid() = ${Number(Reflect.get(client, 'processID'))}`,
  );
  return rowCount !== null && rowCount > 0;
}

/**
 * The longest life of a pooled connection. A server that became a standby keeps its connections: new ones find the
 * server that took over.
 */
export const CONNECTION_LIFETIME_SECONDS = 30;

/** A connection that is not open yet. */
export function createClient(databaseUrl: string, options: ClientConfig = {}): Client {
  const { connectionString, isTlsOptional } = connectionOf(databaseUrl);
  const config = {
    connectionString,
    application_name: 'xiq-sink',
    connectionTimeoutMillis: 10_000,
    // Without it, the answer of a server whose machine is gone would be waited for for ever.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...options,
  };
  return isTlsOptional ? new OptionalTlsClient(config) : new Client(config);
}

/**
 * Runs work on its own single connection, and closes it. Throws when it cannot connect within 10 seconds. With
 * settings, those and the ones of `SESSION` hold in each of its transactions, past a pooler too.
 */
export async function withClient<T>(
  databaseUrl: string,
  work: (client: Client) => Promise<T>,
  settings?: TransactionSettings,
): Promise<T> {
  const client = createClient(databaseUrl, { pipeline: settings !== undefined });
  // A connection that breaks between two queries would end the program; the next query fails by itself.
  client.on('error', () => undefined);
  await client.connect();
  try {
    if (settings !== undefined) applySettings(client, settings);
    // A connection for replication takes no statements but its own.
    else if (!/[?&]replication=/.test(databaseUrl)) {
      await setWithoutPooler(client, (text) => client.query(text));
    }
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Whether a pooler answers at this address: it gives each client an own process id to cancel with (PostgreSQL manual,
 * "BackendKeyData"), which is not that of the server's process.
 */
export const isPooled = (databaseUrl: string): Promise<boolean> => withClient(databaseUrl, isBehindPooler);

/** The same of an open connection. */
export async function isBehindPooler(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid !== Reflect.get(client, 'processID');
}

/** Host and port of a database server, without its credentials. */
export function serverName(databaseUrl: string): string {
  const { host, port } = new Client({ connectionString: databaseUrl });
  return `${host}:${port}`;
}

/** SQLSTATE insufficient_privilege: the role of the connection may not do this. */
export const isForbidden = (error: unknown): error is Error =>
  error instanceof DatabaseError && error.code === '42501';

/** SQLSTATE lock_not_available: how a statement ends that runs into `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Whether a statement failed because it waited for a lock longer than `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE;
