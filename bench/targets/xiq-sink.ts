import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { tableOf } from '../../src/events/message-types.ts';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { freePort } from '../../test/support/free-port.ts';
import { startChild } from './child.ts';
import {
  connectDatabase,
  postgresPid,
  startOpenPostgres,
  startPostgres,
  stopPostgresWith,
} from './postgres.ts';
import { startRedis } from './redis.ts';
import type { Place, RunningTarget, Variant } from './target.ts';

/** The folder of this checkout. */
export const THIS_CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));

/** xiq-sink with its queue in Redis. */
export async function startOnRedis(
  place: Place,
  { checkout = THIS_CHECKOUT, settings }: Variant = {},
): Promise<RunningTarget & { readonly databaseUrl: string }> {
  // A checkout of before the database roles creates its tables as the service itself.
  const start = checkout === THIS_CHECKOUT ? startPostgres : startOpenPostgres;
  const { databaseUrl, migrationUrl } = await start(place);
  const redis = await startRedis(place);
  const program = await startProgram(place, {
    checkout,
    settings: {
      DATABASE_URL: databaseUrl,
      MIGRATION_DATABASE_URL: migrationUrl,
      REDIS_URL: redis.url,
      ...settings,
    },
  });
  const servers = { Postgres: await postgresPid(place), Redis: redis.pid };
  return { ...program, ...(await withRows(databaseUrl, place)), servers, databaseUrl };
}

/** xiq-sink alone: with an embedded database that contains the queue. */
export async function startOnEmbedded(place: Place, variant?: Variant): Promise<RunningTarget> {
  stopPostgresWith(place);
  const program = await startProgram(place, variant);
  // The server is running; this returns its address.
  const { databaseUrl } = await startEmbeddedPostgres(place.dataDir);
  const servers = { Postgres: await postgresPid(place) };
  return { ...program, ...(await withRows(databaseUrl, place)), servers };
}

/** Starts the program. Without DATABASE_URL and REDIS_URL it runs its embedded database. */
export async function startProgram(
  place: Place,
  { checkout = THIS_CHECKOUT, settings }: Variant = {},
): Promise<Pick<RunningTarget, 'origin' | 'secret' | 'pid'>> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const secret = randomBytes(32).toString('hex');
  const pid = await startChild(
    {
      name: 'xiq-sink',
      command: path.join(checkout, 'bin', 'xiq-sink'),
      args: ['serve'],
      env: {
        DATA_DIR: place.dataDir,
        HOST: '127.0.0.1',
        PORT: String(port),
        ADMIN_PORT: '0',
        WEBHOOK_SECRET: secret,
        LOG_LEVEL: 'warn',
        ...settings,
      },
      check: () => checkStarted(`${origin}/readyz`),
    },
    place,
  );
  return { origin, secret, pid };
}

const Readiness = z.object({ checks: z.object({ start: z.string().optional() }) });

/** The program accepts deliveries before it has its tables. A measurement begins later. */
async function checkStarted(url: string): Promise<void> {
  const response = await fetch(url);
  const { start = 'ok' } = Readiness.parse(await response.json()).checks;
  if (!response.ok || start !== 'ok') throw new Error(`${url} answers ${response.status}, start: ${start}`);
}

/** Rows of earlier transactions are not counted, so that it takes the same time beside any number of them. */
async function withRows(databaseUrl: string, place: Place): Promise<Pick<RunningTarget, 'countRows'>> {
  const ask = await connectDatabase(databaseUrl, place);
  const first = await ask('select pg_snapshot_xmax(pg_current_snapshot())');
  return {
    countRows: async (messageType) =>
      Number(await ask(`select count(*) from ${tableOf(messageType)} where xid >= '${first}'`)),
  };
}
