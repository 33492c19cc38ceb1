import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { destinationNames } from '../config/destinations.ts';
import { OutageError } from '../errors.ts';
import { convertDeliveries } from '../store/convert-deliveries.ts';
import type { Db } from '../store/database.ts';
import type { BlockedChange } from '../store/partition-changes.ts';
import { maintainPartitions, missingNow, type PartitionReport } from '../store/partitions.ts';
import { recountDue } from '../store/recount-deliveries.ts';
import { compactArrivals } from '../store/roll-up-arrivals.ts';
import { pruneSeen } from '../store/roll-up-seen.ts';
import { describeSession } from '../store/server-sessions.ts';
import { countOf } from '../units.ts';
import { repeatInBackground } from './background.ts';
import type { Observation } from './observation.ts';
import { isPooled } from '../postgres.ts';
import { buildIndexes } from '../store/build-indexes.ts';
import { directly } from './open-store.ts';

interface MaintenanceOptions {
  readonly config: Pick<Config, 'forwarding' | 'retentionMonths'>;
  readonly db: Db;
  readonly observation: Pick<Observation, 'followMaintenance'>;
  readonly logger: Logger;
}

/** How often months are created, retention is applied and old minutes of arrivals become hours. */
const INTERVAL_MS = 60 * 60 * 1000;

/** A change that did not get its locks is tried again after so long, then after twice as long, up to the second. */
const FIRST_RETRY_MS = 10_000;
const LAST_RETRY_MS = 5 * 60 * 1000;

/**
 * Maintains the tables now, so that the first row finds its month, and then every hour. A change that others are in the
 * way of is tried again sooner, and delays nothing else. Throws an OutageError when this month has no partition yet.
 */
export async function startMaintenance(
  { config, db, observation, logger }: MaintenanceOptions,
  started: AsyncDisposableStack,
): Promise<void> {
  let blocked: readonly BlockedChange[] = [];
  let retryMs = FIRST_RETRY_MS;
  const logged = new Set<string>();
  observation.followMaintenance(() => blocked);

  const maintain = async () => {
    const report = await maintainPartitions(
      db,
      new Date(),
      config.retentionMonths,
      destinationNames(config.forwarding),
    );
    logReport(report, logger);
    note(report.blocked);
  };
  const note = (changes: readonly BlockedChange[]) => {
    blocked = changes;
    for (const change of blocked) {
      if (!logged.has(change.partition)) logger.warn(describeBlocked(change));
      logged.add(change.partition);
    }
    if (blocked.length === 0) logged.clear();
  };

  await maintain();
  const missing = await missingNow(db, new Date());
  if (missing.length > 0) {
    throw new OutageError(
      blocked.length > 0
        ? blocked.map(describeBlocked).join('; ')
        : `no partition for this month: ${missing.join(', ')}`,
    );
  }

  let isDone = true;
  const stopping = new AbortController();
  const work = async () => {
    const converting = await convertDeliveries(db, new Date(), stopping.signal);
    if (!isDone) await maintain();
    isDone = false;
    if (converting.length > 0) note([...blocked, ...converting]);
    await compactArrivals(db, new Date());
    await pruneSeen(db, new Date());
    for (const difference of await recountDue(db, stopping.signal)) {
      logger.error(
        difference,
        `the deliveries in ${difference.partition} are not those that were stored: see the table delivery_sums`,
      );
    }
  };
  const pauseMs = () => {
    const ms = retryMs;
    retryMs = blocked.length === 0 ? FIRST_RETRY_MS : Math.min(ms * 2, LAST_RETRY_MS);
    return blocked.length === 0 ? INTERVAL_MS : ms;
  };
  const failure = 'partitions were not maintained';
  repeatInBackground(
    { part: 'maintenance', failure, level: 'error', pauseMs, work, stopping },
    logger,
    started,
  );
}

/** The change that waits, and the sessions that it waits for. */
export function describeBlocked({ action, table, partition, by }: BlockedChange): string {
  const sessions = by.map(describeSession).join('; ') || 'a session that has ended since';
  return `maintenance waits to ${action} ${partition}, because ${table} is in use: ${sessions}`;
}

function logReport(report: PartitionReport, logger: Logger): void {
  const { created, dropped, held, missed, inDefault } = report;
  if (created.length > 0) logger.info(`${countOf(created.length, 'month partition')} created`);
  if (dropped.length > 0) logger.info({ dropped }, 'retention dropped partitions');
  for (const behind of held) {
    logger.warn(
      behind,
      `retention waits: destination ${behind.destination} has not received all of ${behind.partition}`,
    );
  }
  for (const behind of missed) {
    logger.warn(
      behind,
      `retention dropped ${behind.partition} before destination ${behind.destination} received all of it`,
    );
  }
  for (const { partition, rows } of inDefault) {
    logger.warn({ partition, rows }, 'rows are in the default partition: their month has none of its own');
  }
}

/** Another process may die while it builds, and a table that is in use becomes free. */
const RETRY_INTERVAL_MS = 60_000;

const DONE_INTERVAL_MS = 24 * 60 * 60 * 1000;

const POOLED =
  'indexes are missing, and cannot be built through a pooler, so searches are slow: set DATABASE_DIRECT_URL';

/** Builds the missing indexes of large tables in the background, until they exist. */
export function startIndexBuilding(
  {
    config,
    databaseUrl,
    db,
    logger,
  }: { readonly config: Config; readonly databaseUrl: string; readonly db: Db; readonly logger: Logger },
  started: AsyncDisposableStack,
): void {
  const stopping = new AbortController();
  const { signal } = stopping;
  let isDone = false;
  const work = async () => {
    isDone = false;
    const onProgress = (progress: object) => logger.info(progress, 'building an index');
    const options = { signal, onProgress, isPooled: () => isPooled(config.databaseDirectUrl ?? databaseUrl) };
    const built = await directly(config, db, (direct) => buildIndexes(direct, options));
    isDone = built !== 'busy';
    if (built === 'pooled') logger.warn(POOLED);
    else if (built !== 'busy' && built.length > 0) logger.info({ built }, 'indexes built');
  };
  const pauseMs = () => (isDone ? DONE_INTERVAL_MS : RETRY_INTERVAL_MS);
  const failure = 'indexes were not built, will be retried';
  repeatInBackground({ part: 'building of indexes', failure, pauseMs, work, stopping }, logger, started);
}
