import type { Config } from '../../config.ts';
import { inspectQueue } from '../../queue/batch-queue.ts';
import { locateQueue } from '../../serve/open-store.ts';
import { duration } from '../progress.ts';
import { ok, warn } from './check.ts';
import type { Finding } from './check.ts';
import type { DatabaseAccess } from './database-access.ts';

/** Workers store a batch in well under a second: one that has waited longer than this waits for something. */
const OLD_S = 60;

/** Whether the queue answers, is emptied, and keeps what it has taken. */
export async function checkQueue(access: DatabaseAccess, config: Config): Promise<Finding> {
  const location = locateQueue(config, config.redisUrl === undefined ? access.opened().databaseUrl : '');
  const { waiting, active, delayed, oldestWaitingSeconds, weaknesses } = await inspectQueue(location);
  const oldest =
    oldestWaitingSeconds === undefined ? '' : `, the oldest for ${duration(oldestWaitingSeconds)}`;
  const told = `in ${location.kind === 'redis' ? 'Redis' : 'Postgres'}: ${waiting} batches wait${oldest}, ${active} with workers`;
  if (delayed > 0) {
    return warn(`${told}, ${delayed} could not be stored and are tried again`, "the worker's log says why");
  }
  if (oldestWaitingSeconds !== undefined && oldestWaitingSeconds > OLD_S) {
    return warn(told, 'no worker stores them, or not fast enough: start one more, or look into its log');
  }
  // Those of a Postgres stand under database.
  return location.kind === 'redis' && weaknesses.length > 0
    ? warn(`${told}; ${weaknesses.join('; ')}`, 'change the settings of Redis, or set DURABILITY=strict')
    : ok(told);
}
