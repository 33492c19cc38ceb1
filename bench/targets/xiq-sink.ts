import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { tableOf } from '../../src/message-types.ts';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { freePort } from '../../test/support/free-port.ts';
import { checkAnswers, startChild } from './child.ts';
import { connectDatabase, dataDirOf, startPostgres, stopPostgresWith } from './postgres.ts';
import { startRedis } from './redis.ts';
import type { Place, RunningTarget } from './target.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/xiq-sink', import.meta.url));

/** xiq-sink with its queue in Redis. */
export async function startOnRedis(place: Place): Promise<RunningTarget> {
  return startWithSettings(place, {});
}

/** xiq-sink with its queue in Redis and additional settings. */
export async function startWithSettings(
  place: Place,
  settings: Readonly<Record<string, string>>,
): Promise<RunningTarget & { readonly databaseUrl: string }> {
  const databaseUrl = await startPostgres(place);
  const program = await startProgram(place, {
    DATABASE_URL: databaseUrl,
    REDIS_URL: await startRedis(place),
    ...settings,
  });
  return { ...(await withRows(program, databaseUrl, place)), databaseUrl };
}

/** xiq-sink alone: with an embedded database that contains the queue. */
export async function startOnEmbedded(place: Place): Promise<RunningTarget> {
  stopPostgresWith(place);
  const program = await startProgram(place, {});
  // The server is running; this returns its address.
  const { databaseUrl } = await startEmbeddedPostgres(dataDirOf(place));
  return withRows(program, databaseUrl, place);
}

type Program = Omit<RunningTarget, 'countRows'>;

async function startProgram(place: Place, settings: Readonly<Record<string, string>>): Promise<Program> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const secret = randomBytes(32).toString('hex');
  const pid = await startChild(
    {
      name: 'xiq-sink',
      command: PROGRAM,
      args: ['serve'],
      env: {
        DATA_DIR: dataDirOf(place),
        HOST: '127.0.0.1',
        PORT: String(port),
        ADMIN_PORT: '0',
        WEBHOOK_SECRET: secret,
        LOG_LEVEL: 'warn',
        ...settings,
      },
      check: () => checkAnswers(`${origin}/readyz`),
    },
    place,
  );
  return { origin, secret, pid };
}

async function withRows(program: Program, databaseUrl: string, place: Place): Promise<RunningTarget> {
  const ask = await connectDatabase(databaseUrl, place);
  return {
    ...program,
    countRows: async (messageType) => Number(await ask(`select count(*) from ${tableOf(messageType)}`)),
  };
}
