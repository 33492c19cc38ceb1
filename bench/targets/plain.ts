import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/free-port.ts';
import { checkAnswers, startChild } from './child.ts';
import { connectDatabase, postgresPid, startOpenPostgres } from './postgres.ts';
import { startRedis } from './redis.ts';
import type { Place, RunningTarget } from './target.ts';

const PROGRAM = fileURLToPath(new URL('../plain-receiver.ts', import.meta.url));

/** The plain receiver, on the same Redis and Postgres set-up as xiq-sink, with this many concurrent jobs. */
export async function startPlain(place: Place, concurrency: number): Promise<RunningTarget> {
  const { databaseUrl } = await startOpenPostgres(place);
  const redis = await startRedis(place);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const secret = randomBytes(32).toString('hex');
  const pid = await startChild(
    {
      name: 'plain-receiver',
      command: process.execPath,
      args: [PROGRAM],
      env: {
        NODE_ENV: 'production',
        DATABASE_URL: databaseUrl,
        REDIS_URL: redis.url,
        PORT: String(port),
        WEBHOOK_SECRET: secret,
        CONCURRENCY: String(concurrency),
      },
      check: () => checkAnswers(`${origin}/readyz`),
    },
    place,
  );
  const ask = await connectDatabase(databaseUrl, place);
  return {
    origin,
    secret,
    pid,
    servers: { Postgres: await postgresPid(place), Redis: redis.pid },
    countRows: async (messageType) =>
      Number(await ask(`select count(*) from plain_events where message_type = '${messageType}'`)),
  };
}
