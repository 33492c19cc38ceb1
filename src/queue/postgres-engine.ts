import { Socket } from 'node:net';
import { createPostgresBackend, isPgPool, runMigrations, withBackend } from 'bullmq';
import type { PgPool } from 'bullmq';
import { Client, Pool } from 'pg';
import { OutageError } from '../errors.ts';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { Engine, OnError } from './engine.ts';

/** The schema of BullMQ's own tables. */
const SCHEMA = 'bullmq';

/** BullMQ on Postgres, in a schema of its own next to the tables of xiq-sink. */
export function createPostgresEngine(databaseUrl: string): Engine {
  const { Queue, Worker } = withBackend(createPostgresBackend);
  return {
    connectProducer(name, options, onError) {
      const pool = createPool(databaseUrl, onError);
      const bullmq = new Queue<DeliveryBatch>(name, { ...options, connection: pool });
      return {
        bullmq,
        ping: () => pool.query('select 1'),
        // This engine counts from the newest job in either order.
        findOldest: async (waiting) => (await bullmq.getJobs(['wait'], waiting - 1, waiting - 1))[0],
        weaknesses: () => findWeaknesses(pool),
        disconnect: () => pool.end(),
      };
    },
    connectWorker(name, processor, options, onError) {
      const pool = createPool(databaseUrl, onError);
      const bullmq = new Worker<DeliveryBatch>(name, processor, { ...options, connection: pool });
      // If one connection hangs, all do, and BullMQ would wait forever on the one for LISTEN.
      bullmq.on('error', ({ message }) => {
        if (message === NO_ANSWER) pool.dropConnections();
      });
      return { bullmq, ping: () => pool.query('select 1'), disconnect: () => pool.end() };
    },
  };
}

/** PostgreSQL manual, section 28.3 and "Write Ahead Log": the guarantees of a commit with these settings. */
async function findWeaknesses(pool: Pick<Pool, 'query'>): Promise<string[]> {
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
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    return await findWeaknesses(client);
  } finally {
    await client.end();
  }
}

/** Migrates BullMQ's tables, under BullMQ's own advisory lock. */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await runMigrations(client, SCHEMA);
  } finally {
    await client.end();
  }
}

/** The error message of pg for a query without an answer within `query_timeout`. */
const NO_ANSWER = 'Query read timeout';

function createPool(databaseUrl: string, onError: OnError): Pool & PgPool & { dropConnections(): void } {
  const sockets = new Set<Socket>();
  const pool = new Pool({
    connectionString: databaseUrl,
    options: `-c search_path=${SCHEMA}`,
    application_name: 'xiq-sink queue',
    // The worker keeps one connection for LISTEN; without keep-alive it would not notice that it is dead.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
    // BullMQ's own queries take milliseconds.
    query_timeout: 15_000,
    // A server that became a standby keeps its connections; new connections reach the new primary.
    maxLifetimeSeconds: 30,
    max: 6,
    connectionTimeoutMillis: 5_000,
  });
  // A connection that breaks between two queries emits an error, which would end the program without a listener.
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  // BullMQ declares the part of the pool that it uses in its own types, which differ from pg's in form only.
  if (!isPgPool(pool)) throw new TypeError('BullMQ does not accept this version of the pg package');
  return Object.assign(pool, {
    dropConnections: () => {
      for (const socket of sockets)
        socket.destroy(new OutageError('connection closed: the server does not answer'));
    },
  });
}
