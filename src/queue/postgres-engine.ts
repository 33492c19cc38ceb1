import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPostgresBackend, isPgPool, LATEST_SCHEMA_VERSION, runMigrations, withBackend } from 'bullmq';
import type { IQueueBackend, PgPool } from 'bullmq';
import { OutageError, UsageError } from '../lib/errors.ts';
import {
  CONNECTION_LIFETIME_SECONDS,
  createPool,
  isForbidden,
  isLockTimeout,
  withClient,
} from '../store/server/postgres.ts';
import type { Client, Connection, Pool } from '../store/server/postgres.ts';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { Engine, OnError, QueueLocation } from './engine.ts';

const SCHEMA = 'bullmq';

/**
 * The pause between two looks for jobs. Postgres announces jobs at once (LISTEN), but not through a pooler that gives a
 * session to a client for one transaction only.
 */
const POLL_SECONDS = 0.5;

/**
 * A worker does not wait until the disk has what it writes about its jobs: if the server crashes, the job comes back, and
 * its deliveries are found stored.
 */
const WORKER_SETTINGS = { synchronous_commit: 'off' };

type PostgresLocation = Omit<Extract<QueueLocation, { kind: 'postgres' }>, 'kind'>;

/** BullMQ on Postgres, in its own schema next to the tables of xiq-sink. */
export function createPostgresEngine(location: PostgresLocation): Engine {
  const { Queue, Worker } = withBackend(createPostgresBackend);
  return {
    connectProducer(name, options, onError) {
      const { pool, connection, end } = connect(location, onError);
      const bullmq = new Queue<DeliveryBatch>(name, { ...options, connection });
      return {
        bullmq,
        ping: () => pool.query('select 1'),
        // This engine counts from the newest job in either order.
        findOldest: async (state, waiting) => (await bullmq.getJobs([state], waiting - 1, waiting - 1))[0],
        weaknesses: () => findWeaknesses(pool),
        disconnect: end,
      };
    },
    connectWorker(name, processor, options, onError) {
      const { connection, dropConnections, end } = connect(location, onError, WORKER_SETTINGS);
      const workerOptions = { drainDelay: POLL_SECONDS, ...options, connection };
      const bullmq = new Worker<DeliveryBatch>(name, processor, workerOptions);
      slowDown(bullmq);
      // If one connection hangs, all do, and BullMQ would wait forever on the one for LISTEN.
      bullmq.on('error', ({ message }) => {
        if (message === NO_ANSWER) dropConnections();
      });
      return {
        bullmq,
        isConnected: () => true,
        disconnect: end,
      };
    },
  };
}

/**
 * Postgres announces jobs that are not due as well, such as those that a process stores from memory: each cost three
 * statements, a seventh of what Postgres did for a delivery. A worker that waits for a job therefore waits this long.
 */
const LEAST_WAIT_MS = 50;

function slowDown(worker: {
  readonly closing: Promise<void> | undefined;
  getBackend(): Pick<IQueueBackend, 'waitForJob'>;
}): void {
  const backend = worker.getBackend();
  const waitForJob = backend.waitForJob.bind(backend);
  backend.waitForJob = async (seconds) => {
    const [due] = await Promise.all([waitForJob(seconds), sleep(LEAST_WAIT_MS)]);
    // BullMQ would fetch one more job if it was told to close meanwhile.
    return worker.closing === undefined ? due : { member: '', score: Infinity };
  };
}

/** PostgreSQL manual, section 28.3 and "Write Ahead Log": the guarantees of a commit with these settings. */
async function findWeaknesses(pool: Connection): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes')",
  );
  return rows
    .filter(({ setting }) => setting === 'off')
    .map(
      ({ name }) => `${name} is off in Postgres, so a crash can lose acknowledged deliveries: set it to on`,
    );
}

/** The settings of a Postgres server that may lose acknowledged commits, each as a sentence. */
export async function weaknessesOfPostgres(databaseUrl: string): Promise<string[]> {
  return withClient(databaseUrl, findWeaknesses, {});
}

/** How long the migration waits for a lock that another session holds. */
const LOCK_WAIT_MS = 5_000;

/**
 * Migrates BullMQ's tables, unless they are up to date. BullMQ does so under an advisory lock, which other roles may be
 * able to take: throws an OutageError that names the holder after 5 s. Nothing was changed then, and it can be repeated.
 */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  const migrate = async (client: Client) => {
    if (await isUpToDate(client)) return;
    try {
      await runMigrations(client, SCHEMA);
    } catch (error) {
      if (isForbidden(error)) {
        const grant = `grant create on database ${client.escapeIdentifier(client.database ?? '')} to ${client.escapeIdentifier(client.user ?? '')}`;
        const message = `The queue's tables cannot be created. Ask a database administrator to run: ${grant}`;
        throw new UsageError(message, { cause: error });
      }
      if (!isLockTimeout(error)) throw error;
      const message = `the migration of the queue is waiting for a lock held by ${await findLockHolders(client)}`;
      throw new OutageError(message, { cause: error });
    }
  };
  await withClient(databaseUrl, migrate, { lock_timeout: LOCK_WAIT_MS });
}

const VERSIONS = `${SCHEMA}.migration`;

/** Whether BullMQ's tables are those of this version, or of a newer one. */
export async function isQueueMigrated(databaseUrl: string): Promise<boolean> {
  return withClient(databaseUrl, isUpToDate, {});
}

async function isUpToDate(client: Connection): Promise<boolean> {
  const { rowCount } = await client.query('select where to_regclass($1) is not null', [VERSIONS]);
  if (rowCount === 0) return false;
  const { rows } = await client.query<{ version: number | null }>(
    `select max(version) as version from ${VERSIONS}`,
  );
  return (rows[0]?.version ?? 0) >= LATEST_SCHEMA_VERSION;
}

/** The sessions that hold an advisory lock of this database, or one on BullMQ's tables. */
async function findLockHolders(client: Connection): Promise<string> {
  const { rows } = await client.query<{ holder: string }>(
    `select distinct format('pid %s (%s, user %s)', pid, application_name, usename) as holder
     from pg_locks join pg_stat_activity using (pid)
     where granted and pid <> pg_backend_pid()
       and database = (select oid from pg_database where datname = current_database())
       and (locktype = 'advisory'
         or relation in (select oid from pg_class where relnamespace = to_regnamespace($1)))`,
    [SCHEMA],
  );
  return rows.map(({ holder }) => holder).join(', ') || 'a session that has ended since';
}

/**
 * A pool waits for each connection that is in use. BullMQ keeps one for LISTEN, and if that has gone silent at the wrong
 * moment, it is never given back.
 */
const END_MS = 2_000;

/** The error message of pg for a query without an answer within `query_timeout`. */
const NO_ANSWER = 'Query read timeout';

function connect(
  { databaseUrl, directUrl }: PostgresLocation,
  onError: OnError,
  settings: Readonly<Record<string, string>> = {},
) {
  const sockets = new Set<Socket>();
  const open = (connectionString: string) =>
    createPool(
      {
        connectionString,
        // BullMQ's statements do not name its schema.
        settings: { search_path: SCHEMA, ...settings },
        isDirect: connectionString === directUrl,
        application_name: 'xiq-sink queue',
        stream: () => {
          const socket = new Socket();
          sockets.add(socket);
          socket.once('close', () => sockets.delete(socket));
          return socket;
        },
        // BullMQ's own queries take milliseconds.
        query_timeout: 15_000,
        maxLifetimeSeconds: CONNECTION_LIFETIME_SECONDS,
        max: 6,
        connectionTimeoutMillis: 5_000,
      },
      onError,
    );
  const pool = open(databaseUrl);
  const direct = directUrl === undefined || directUrl === databaseUrl ? undefined : open(directUrl);
  // BullMQ declares the part of the pool that it uses in types that differ from pg's own in form only.
  if (!isPgPool(pool)) throw new TypeError('BullMQ does not accept this version of the pg package');
  const dropConnections = () => {
    for (const socket of sockets)
      socket.destroy(new OutageError('connection closed: the server is not responding'));
  };
  return {
    pool,
    /** BullMQ runs its queries on the pool. It uses its own connection only for the session that waits for jobs (LISTEN). */
    connection: direct === undefined ? pool : joinPools(pool, direct),
    dropConnections,
    end: async () => {
      const ended = Promise.all([pool.end(), direct?.end()]).then(() => true);
      const hasEnded = await Promise.race([ended, sleep(END_MS, false, { ref: false })]);
      if (!hasEnded) dropConnections();
    },
  };
}

/** Queries on one pool, and sessions from the other. */
function joinPools(pool: Pool, direct: Pool): PgPool {
  const joined: unknown = Object.create(pool, {
    query: { value: pool.query.bind(pool) },
    connect: { value: direct.connect.bind(direct) },
  });
  if (!isPgPool(joined)) throw new TypeError('BullMQ does not accept this version of the pg package');
  return joined;
}
