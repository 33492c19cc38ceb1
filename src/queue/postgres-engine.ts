import { Socket } from 'node:net';
import { createPostgresBackend, isPgPool, runMigrations, withBackend } from 'bullmq';
import type { PgPool } from 'bullmq';
import { Client, Pool } from 'pg';
import { OutageError } from '../errors.ts';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { Engine, OnError } from './engine.ts';

/** Schema of BullMQ's own tables. */
const SCHEMA = 'bullmq';

/** BullMQ on Postgres, in a schema of its own beside our tables. */
export function createPostgresEngine(databaseUrl: string): Engine {
  const { Queue, Worker } = withBackend(createPostgresBackend);
  return {
    connectProducer(name, options, onError) {
      const pool = createPool(databaseUrl, onError);
      const bullmq = new Queue<DeliveryBatch>(name, { ...options, connection: pool });
      return {
        bullmq,
        isConnected: () => true,
        ping: () => pool.query('select 1'),
        // This engine counts from the newest, whichever order it is asked for.
        findOldest: async (waiting) => (await bullmq.getJobs(['wait'], waiting - 1, waiting - 1))[0],
        weaknesses: () => findWeaknesses(pool),
        disconnect: () => pool.end(),
      };
    },
    connectWorker(name, processor, options, onError) {
      const pool = createPool(databaseUrl, onError);
      const bullmq = new Worker<DeliveryBatch>(name, processor, { ...options, connection: pool });
      // When one connection has gone silent all have, and BullMQ would wait on the one for LISTEN for good.
      bullmq.on('error', ({ message }) => {
        if (message === NO_ANSWER) pool.dropConnections();
      });
      return {
        bullmq,
        isConnected: () => true,
        ping: () => pool.query('select 1'),
        disconnect: () => pool.end(),
      };
    },
  };
}

/** PostgreSQL manual, section 28.3 and "Write Ahead Log": what a commit promises under these settings. */
async function findWeaknesses(pool: Pick<Pool, 'query'>): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes')",
  );
  return rows
    .filter(({ setting }) => setting === 'off')
    .map(
      ({ name }) => `Postgres has ${name} off: what it has acknowledged can be lost in a crash; set it to on`,
    );
}

/** The settings of a Postgres under which it may lose what it has acknowledged, each in a sentence. */
export async function weaknessesOfPostgres(databaseUrl: string): Promise<string[]> {
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    return await findWeaknesses(client);
  } finally {
    await client.end();
  }
}

/** Brings BullMQ's tables up to date, under BullMQ's own advisory lock. */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await runMigrations(client, SCHEMA);
  } finally {
    await client.end();
  }
}

/** What pg says of a query whose answer did not come within `query_timeout`. */
const NO_ANSWER = 'Query read timeout';

function createPool(databaseUrl: string, onError: OnError): Pool & PgPool & { dropConnections(): void } {
  const sockets = new Set<Socket>();
  const pool = new Pool({
    connectionString: databaseUrl,
    options: `-c search_path=${SCHEMA}`,
    application_name: 'xiq-sink queue',
    // The worker holds one connection to LISTEN; without keep-alive a dead one would go unnoticed.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
    // BullMQ's own take milliseconds.
    query_timeout: 15_000,
    // A server that became a standby keeps its connections: the next ones find the one that took over.
    maxLifetimeSeconds: 30,
    max: 6,
    connectionTimeoutMillis: 5_000,
  });
  // A connection that breaks between two queries has nobody to tell; without listeners it would end the program.
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  // BullMQ declares the part of the pool that it uses in types that differ from pg's own in form only.
  if (!isPgPool(pool)) throw new TypeError('BullMQ does not accept this version of the pg package');
  return Object.assign(pool, {
    dropConnections: () => {
      for (const socket of sockets) socket.destroy(new OutageError('the connection was given up: no answer'));
    },
  });
}
