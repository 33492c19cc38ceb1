import { Socket } from 'node:net';
import { createPostgresBackend, isPgPool, runMigrations, withBackend } from 'bullmq';
import type { PgPool } from 'bullmq';
import { OutageError } from '../errors.ts';
import { CONNECTION_LIFETIME_SECONDS, createPool, withClient } from '../postgres.ts';
import type { Connection, Pool } from '../postgres.ts';
import type { DeliveryBatch } from './delivery-batch.ts';
import type { Engine, OnError } from './engine.ts';

/** The schema of BullMQ's own tables. */
const SCHEMA = 'bullmq';

/** BullMQ on Postgres, in a schema of its own next to the tables of xiq-sink. */
export function createPostgresEngine(databaseUrl: string): Engine {
  const { Queue, Worker } = withBackend(createPostgresBackend);
  return {
    connectProducer(name, options, onError) {
      const pool = createQueuePool(databaseUrl, onError);
      const bullmq = new Queue<DeliveryBatch>(name, { ...options, connection: pool });
      return {
        bullmq,
        isConnected: () => true,
        ping: () => pool.query('select 1'),
        // This engine counts from the newest job in either order.
        findOldest: async (waiting) => (await bullmq.getJobs(['wait'], waiting - 1, waiting - 1))[0],
        weaknesses: () => findWeaknesses(pool),
        disconnect: () => pool.end(),
      };
    },
    connectWorker(name, processor, options, onError) {
      const pool = createQueuePool(databaseUrl, onError);
      const bullmq = new Worker<DeliveryBatch>(name, processor, { ...options, connection: pool });
      // If one connection hangs, all do, and BullMQ would wait forever on the one for LISTEN.
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
  return withClient(databaseUrl, findWeaknesses);
}

/** Migrates BullMQ's tables, under BullMQ's own advisory lock. */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, (client) => runMigrations(client, SCHEMA));
}

/** The error message of pg for a query without an answer within `query_timeout`. */
const NO_ANSWER = 'Query read timeout';

function createQueuePool(databaseUrl: string, onError: OnError): Pool & PgPool & { dropConnections(): void } {
  const sockets = new Set<Socket>();
  const options = {
    connectionString: databaseUrl,
    options: `-c search_path=${SCHEMA}`,
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
  };
  const pool = createPool(options, onError);
  // BullMQ declares the part of the pool that it uses in types that differ from pg's own in form only.
  if (!isPgPool(pool)) throw new TypeError('BullMQ does not accept this version of the pg package');
  return Object.assign(pool, {
    dropConnections: () => {
      for (const socket of sockets)
        socket.destroy(new OutageError('connection closed: the server does not answer'));
    },
  });
}
