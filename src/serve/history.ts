import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { systemClock } from '../clock.ts';
import { createCloudClient, type CloudClient } from '../cloud/client.ts';
import type { SourceConfig } from '../config.ts';
import { describeError } from '../errors.ts';
import type { BatchStoreOptions } from '../handlers/store-batch.ts';
import { createCallBudget } from '../history/call-budget.ts';
import type { HistoryContext } from '../history/compare-history.ts';
import { recordCoverage } from '../history/coverage.ts';
import { loggedAmong } from '../history/log-kinds.ts';
import { ROUND_MS } from '../history/schedule.ts';
import { createSweep, type SweptSource } from '../history/sweep.ts';
import { sumStored } from '../observe/sum-stored.ts';
import { openStoringDatabase, type Db } from '../store/database.ts';
import { forgetOldLinks } from '../store/history.ts';
import { isCatchingUp } from '../store/read-arrivals.ts';
import { closing } from './closing.ts';
import { followCloudSources, type CloudSource } from './cloud-sources.ts';
import type { LiveSettings } from './live-settings.ts';
import type { Observation } from './observation.ts';
import { logLostConnections } from './open-store.ts';
import { repeat } from './repeat.ts';
import { createRecordStore } from './store-records.ts';

/** Stores log records that no webhook brought. */
export function createMissingStore(
  db: Db,
  logger: Logger,
  giveUp: AbortSignal,
  options: BatchStoreOptions = {},
): HistoryContext['storeMissing'] {
  const store = createRecordStore(db, logger, giveUp, options);
  return (source, messageType, records) => store({ source, messageType, records, origin: 'backfill' });
}

/** What the sweep needs. */
export interface SweepNeeds {
  readonly live: LiveSettings;
  readonly databaseUrl: string;
  readonly observation: Pick<Observation, 'onStored'>;
  readonly logger: Logger;
}

/** All of a range is in memory while it is compared. */
const SOURCES_AT_ONCE = 2;

/** A source that is swept, with its client. */
interface Swept extends SweptSource {
  readonly config: SourceConfig;
  readonly client: CloudClient;
}

/**
 * Compares the sources that have an API with its logs, every ten minutes, and fetches what no webhook brought. The first
 * round also compares what was not compared before, because this service was down.
 */
export function startHistorySweep(
  { live, databaseUrl, observation, logger }: SweepNeeds,
  started: AsyncDisposableStack,
): void {
  const { config } = live;
  if (!config.history.sweeps) return;
  const stopping = new AbortController();
  const { signal } = stopping;
  const db = openStoringDatabase(databaseUrl, logLostConnections(logger));
  started.defer(closing(logger, 'database of the history', () => db.destroy()));
  const storeMissing = createMissingStore(db, logger, signal, {
    onStored: (rows, seconds) => observation.onStored(sumStored(rows), seconds),
    erasureKeyFile: config.erasureKeyFile,
  });
  const { toleranceMs } = config.history;
  const onCompared = recordCoverage(db);
  const context = { db, clock: systemClock, toleranceMs, storeMissing, onCompared, signal };
  const sweep = createSweep({ context, holder: randomUUID(), logger });
  const sources = followCloudSources(
    live,
    (source) => createSwept(source, logger),
    ({ source }) => sweep.leave(source),
  );
  const atOnce = pLimit(SOURCES_AT_ONCE);

  async function round(): Promise<'done'> {
    // Webhooks that wait in the queue would seem to be missing.
    if (!live.knowsStored() || (await isCatchingUp(db))) return 'done';
    const swept = await sources.follow();
    if (swept.length > 0) await forgetOldLinks(db);
    await Promise.all(swept.map((source) => atOnce(() => sweep.round(source))));
    return 'done';
  }

  const sweeping = repeat(ROUND_MS, round, (error) => {
    if (!signal.aborted)
      logger.warn({ err: error }, `can't compare with the history: ${describeError(error)}`);
  });
  const stop = async () => {
    stopping.abort();
    await sweeping.stop();
    await sources.leaveAll();
  };
  started.defer(closing(logger, 'comparison with the history', stop));
}

function createSwept(config: CloudSource, logger: Logger): Swept {
  const { name: source, cloud, messageTypes } = config;
  const budget = createCallBudget(systemClock);
  const { apiUrl: baseUrl, credentials } = cloud;
  const client = createCloudClient({ baseUrl, credentials, logger, fetch: budget.fetch });
  return {
    source,
    config,
    client,
    logs: client.logs,
    budget,
    messageTypes: loggedAmong(messageTypes),
  };
}
