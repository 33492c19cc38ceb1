import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import type { QueueLocation } from './engine.ts';
import { serverName } from '../store/server/postgres.ts';
import { UsageError } from '../lib/errors.ts';
import { checkOwner } from './redis-engine.ts';
import { readInstallation } from '../store/server/installation.ts';
import type { Db } from '../store/server/database.ts';

/** A Redis that does not answer for so long is waited for by the worker. */
const LIMIT_MS = 2_000;

/**
 * Learns from the database which installation this is, and marks the queue in Redis as its own. Throws a UsageError if
 * the queue belongs to another one. If Redis is away, the worker does the same before it fetches a job.
 */
export async function claimQueue({
  db,
  databaseUrl,
  queueLocation,
  logger,
}: {
  readonly db: Db;
  readonly databaseUrl: string;
  readonly queueLocation: QueueLocation;
  readonly logger: Logger;
}): Promise<void> {
  if (queueLocation.kind === 'postgres' || queueLocation.installation === undefined) return;
  const { database, ...known } = await readInstallation(db);
  queueLocation.installation.set(
    { ...known, database: `${database} at ${serverName(databaseUrl)}` },
    'database',
  );
  try {
    await pTimeout(checkOwner(queueLocation), { milliseconds: LIMIT_MS });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    logger.debug({ err: error }, 'the owner of the queue will be checked later');
  }
}
