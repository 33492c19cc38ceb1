import { sql } from 'kysely';
import type { Logger } from 'pino';
import { activity } from '../../lib/activity.ts';
import { closeLogged } from '../../lib/close-logged.ts';
import { describeError } from '../../lib/errors.ts';
import { repeat } from '../../lib/repeat.ts';
import type { Db } from './database.ts';
import { createClient, isDirect, type Client } from './postgres.ts';

const CHANNEL = 'xiq_sink';

/**
 * Wakes the pollers of all processes, at the commit if this is a transaction. Postgres commits those that notify one at a
 * time: not for what happens often.
 */
export async function sendHint(db: Db): Promise<void> {
  await sql`select pg_notify(${CHANNEL}, '')`.execute(db);
}

/** What happens more often than this is found by pollers that are awake. */
const QUIET_MS = 500;

/** Creates the function that says that something has happened: to this process each time, to the others after a silence. */
export function createHinter(db: Db): () => void {
  let last = -Infinity;
  return () => {
    activity.stir();
    const wasQuiet = performance.now() - last >= QUIET_MS;
    last = performance.now();
    // Lost with a connection, it costs the others an idle pause.
    if (wasQuiet) sendHint(db).catch(() => undefined);
  };
}

/** A session is opened again after so long, and asked so often whether it is still there. */
const REOPEN_MS = 1_000;
const PROBE_MS = 50_000;

/** Lets hints wake the pollers of this process. A pooler of transactions carries none: they look each second then. */
export function listenForHints(databaseUrl: string, logger: Logger, started: AsyncDisposableStack): void {
  let session: Client | undefined;
  let probed = -Infinity;
  async function end(): Promise<void> {
    const ended = session;
    session = undefined;
    probed = -Infinity;
    activity.hear(false);
    await ended?.end().catch(() => undefined);
  }
  async function open(): Promise<Client> {
    const client = createClient(databaseUrl, { keepAlive: true, query_timeout: 5_000 });
    client.on('error', () => void (client === session && end()));
    client.on('notification', () => activity.stir());
    await client.connect();
    return client;
  }
  const listening = repeat({
    pauseMs: REOPEN_MS,
    async work() {
      if (performance.now() - probed < PROBE_MS) return 'done';
      session ??= await open();
      if (!(await isDirect(session))) return end().then(() => 'over');
      await session.query(`listen ${CHANNEL}`);
      probed = performance.now();
      activity.hear(true);
      return 'done';
    },
    onError(error) {
      logger.debug(`hints of other processes are not heard: ${describeError(error)}`);
      void end();
    },
  });
  started.defer(closeLogged(logger, 'hints', async () => listening.stop().then(end)));
}
