import { sql } from 'kysely';
import type { Logger } from 'pino';
import { activity } from '../../lib/activity.ts';
import { systemClock } from '../../lib/clock.ts';
import { closeLogged } from '../../lib/close-logged.ts';
import { describeError } from '../../lib/errors.ts';
import { repeat } from '../../lib/repeat.ts';
import type { Db } from './database.ts';
import { createClient, isPooled } from './postgres.ts';

const CHANNEL = 'xiq_sink';

/** Wakes the pollers of all processes, at the commit if this is a transaction. Never rejects: a lost hint costs a rest. */
export async function sendHint(db: Db): Promise<void> {
  await sql`select pg_notify(${CHANNEL}, '')`.execute(db).catch(() => undefined);
}

/** A session that has ended is opened again after so long; whether it answers is seen so often, and within this time. */
const [REOPEN_MS, PROBE_MS, ANSWER_MS] = [1_000, 120_000, 5_000];

/** Lets hints wake the pollers of this process. A pooler carries none: their rests are short then. */
export function listenForHints(databaseUrl: string, logger: Logger, started: AsyncDisposableStack): void {
  const stopping = new AbortController();
  async function work(): Promise<'over' | 'done'> {
    if (await isPooled(databaseUrl)) return 'over';
    const client = createClient(databaseUrl, { query_timeout: ANSWER_MS });
    const lost = new AbortController();
    client.on('error', () => lost.abort()).on('notification', () => activity.stir());
    const signal = AbortSignal.any([stopping.signal, lost.signal]);
    try {
      await client.connect();
      while (!signal.aborted) {
        await client.query(`listen ${CHANNEL}`);
        activity.setTold(true);
        await systemClock.sleep(PROBE_MS, signal).catch(() => undefined);
      }
      return 'done';
    } finally {
      activity.setTold(false);
      await client.end().catch(() => undefined);
    }
  }
  const onError = (error: unknown) =>
    logger.debug(`no notifications from other processes: ${describeError(error)}`);
  const listening = repeat({ pauseMs: REOPEN_MS, work, stopping, onError });
  started.defer(closeLogged(logger, 'hints', () => listening.stop()));
}
