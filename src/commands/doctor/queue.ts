import path from 'node:path';
import { commandName } from '../../lib/text/command-name.ts';
import type { Config } from '../../config/config.ts';
import { describeError, UsageError } from '../../lib/errors.ts';
import { serverName } from '../../store/server/postgres.ts';
import { inspectQueue } from '../../queue/batch-queue.ts';
import { InstallationMemory } from '../../queue/installation.ts';
import { checkOwner } from '../../queue/redis-engine.ts';
import { checkWritable, inspectSpool } from '../../queue/spool/inspect-spool.ts';
import { locateQueue } from '../../serve/open-store.ts';
import { findInstallation } from '../../store/server/installation.ts';
import { countOf, formatBytes, formatDuration } from '../../lib/text/units.ts';
import { fail, ok, warn, type Finding } from './check.ts';
import type { DatabaseAccess } from './database.ts';

/** Workers store a batch in well under a second: one that has waited longer than this is stuck. */
const OLD_S = 60;

/** Checks that the queue answers, is processed, and is durable. */
export async function checkQueue(access: DatabaseAccess, config: Config): Promise<Finding> {
  const location = locateQueue(config, config.redisUrl === undefined ? access.opened().databaseUrl : '');
  const { waiting, active, delayed, oldestWaitingSeconds, weaknesses } = await inspectQueue(location);
  const oldest =
    oldestWaitingSeconds === undefined ? '' : ` (oldest ${formatDuration(oldestWaitingSeconds)})`;
  const state = `in ${location.kind === 'redis' ? 'Redis' : 'Postgres'}: ${countOf(waiting, 'batch', 'batches')} waiting${oldest}, ${active} in progress`;
  if (delayed > 0) {
    return warn(
      `${state}, ${delayed} waiting for a retry, because storing failed or they need a newer worker`,
      "see the worker's log for the reason",
    );
  }
  if (oldestWaitingSeconds !== undefined && oldestWaitingSeconds > OLD_S) {
    return warn(
      state,
      `no worker is running, or workers are too slow: start one with ${commandName()} serve --role worker, or see its log`,
    );
  }
  // The check of the database reports the weaknesses of a Postgres.
  return location.kind === 'redis' && weaknesses.length > 0
    ? warn(`${state}; ${weaknesses.join('; ')}`, 'change the Redis settings, or set DURABILITY=strict')
    : ok(state);
}

/** Checks that the queue in Redis belongs to the installation of this database. */
export async function checkQueueOwner(access: DatabaseAccess, config: Config): Promise<Finding> {
  const { db, databaseUrl } = access.opened();
  const own = await findInstallation(db);
  const location = locateQueue(config, databaseUrl);
  if (own === undefined || location.kind === 'postgres') return ok('nothing has been stored yet');
  const known = { ...own, database: `${own.database} at ${serverName(databaseUrl)}` };
  const installation = new InstallationMemory(undefined, true);
  installation.set(known, 'database');
  try {
    await checkOwner({ ...location, installation }, false);
    return ok(`installation ${own.id}, prefix ${config.queuePrefix}`);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return fail(error.message, 'set QUEUE_PREFIX, or release the queue as described');
  }
}

/** The spool should be almost empty: more than this share of its limit is a warning. */
const HALF_FULL = 0.5;

/** Checks that the spool is writable, undamaged, and has room. */
export async function checkSpool({ dataDir, spool }: Config): Promise<Finding> {
  const directory = path.join(dataDir, 'spool');
  try {
    await checkWritable(directory);
  } catch (error) {
    return fail(
      `cannot write to ${directory}: ${describeError(error)}`,
      'make the user that runs xiq-sink the owner of the directory, or set DATA_DIR to another one',
    );
  }
  const { segments, bytes, corrupt } = await inspectSpool(directory);
  const state = `${formatBytes(bytes)} of ${formatBytes(spool.maxBytes)} in ${countOf(segments, 'segment')}`;
  if (corrupt.length > 0) {
    return warn(
      `${state}; damaged segments were set aside: ${corrupt.join(', ')}`,
      'either the disk damaged them or someone changed them: keep the files, and check the disk',
    );
  }
  if (bytes >= spool.maxBytes) {
    return fail(
      `${state}: full, so new deliveries are refused`,
      'make the queue available again, or raise SPOOL_MAX_BYTES',
    );
  }
  return bytes > spool.maxBytes * HALF_FULL
    ? warn(state, 'the queue does not accept spooled deliveries: see queue')
    : ok(state);
}
