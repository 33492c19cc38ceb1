import type { Logger } from 'pino';
import { OutageError } from '../../lib/errors.ts';
import { repeatInBackground } from '../../lib/repeat.ts';
import { countOf } from '../../lib/text/units.ts';
import { compactArrivals } from '../counts/roll-up-arrivals.ts';
import { pruneSeen } from '../counts/roll-up-seen.ts';
import { recountDue } from '../deliveries/recount-deliveries.ts';
import type { Db } from '../server/database.ts';
import { describeBlocked, type BlockedChange } from './partition-changes.ts';
import type { RetentionMonths } from './partitioned-tables.ts';
import { maintainPartitions, missingNow, type PartitionReport } from './partitions.ts';

interface TableUpkeep {
  readonly db: Db;
  /** The settings in force. */
  readonly config: { readonly retentionMonths: RetentionMonths };
  /** The names of the configured destinations, which hold back what they have not received. */
  readonly destinations: () => readonly string[];
  /** Receives the changes that wait for other sessions, after each round. */
  readonly onBlocked: (blocked: readonly BlockedChange[]) => void;
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
  { db, config, destinations, onBlocked, logger }: TableUpkeep,
  started: AsyncDisposableStack,
): Promise<void> {
  let blocked: readonly BlockedChange[] = [];
  let retryMs = FIRST_RETRY_MS;
  const logged = new Set<string>();

  const maintain = async () => {
    const report = await maintainPartitions(db, new Date(), config.retentionMonths, destinations());
    logReport(report, logger);
    note(report.blocked);
  };
  const note = (changes: readonly BlockedChange[]) => {
    blocked = changes;
    onBlocked(blocked);
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
    if (!isDone) await maintain();
    isDone = false;
    await compactArrivals(db, new Date());
    await pruneSeen(db, new Date());
    for (const difference of await recountDue(db, stopping.signal)) {
      logger.error(
        difference,
        `the deliveries in ${difference.partition} differ from those that were stored: see the table delivery_sums`,
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

function logReport(report: PartitionReport, logger: Logger): void {
  const { created, dropped, held, missed, inDefault } = report;
  if (created.length > 0) logger.debug(`${countOf(created.length, 'month partition')} created`);
  if (dropped.length > 0) logger.info({ dropped }, 'retention dropped partitions');
  for (const behind of held) {
    logger.warn(
      behind,
      `retention is waiting: destination ${behind.destination} has not received all of ${behind.partition}`,
    );
  }
  for (const behind of missed) {
    logger.warn(
      behind,
      `retention dropped ${behind.partition} before destination ${behind.destination} received all of it`,
    );
  }
  for (const rows of inDefault) {
    logger.warn(
      rows,
      'rows are in the default partition: their times cannot be right, or a later round will move them',
    );
  }
}
