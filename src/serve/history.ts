import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { systemClock } from '../clock.ts';
import { createCloudClient } from '../cloud/client.ts';
import type { BatchStoreOptions } from '../handlers/store-batch.ts';
import { createCallBudget } from '../history/call-budget.ts';
import type { HistoryContext } from '../history/compare-history.ts';
import { recordCoverage } from '../history/coverage.ts';
import { loggedAmong } from '../history/log-kinds.ts';
import { ROUND_MS } from '../history/schedule.ts';
import { createSweep } from '../history/sweep.ts';
import { sumStored } from '../observe/sum-stored.ts';
import { openStoringDatabase, type Db } from '../store/database.ts';
import { forgetOldLinks } from '../store/history.ts';
import { isCatchingUp } from '../store/read-arrivals.ts';
import { openFor, type PartOptions } from './background.ts';
import { repeatOnClouds, type CloudSource } from './cloud-sources.ts';
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

/**
 * Compares the sources that have an API with its logs, every ten minutes, and fetches what no webhook brought. The first
 * round also compares what was not compared before, because this service was down.
 */
export function startHistorySweep(options: PartOptions, started: AsyncDisposableStack): void {
  const { live, observation, logger } = options;
  const { history, erasureKeyFile } = live.config;
  if (!history.sweeps) return;
  const stopping = new AbortController();
  const { signal } = stopping;
  const db = openFor('the history', openStoringDatabase, options, started);
  const storeMissing = createMissingStore(db, logger, signal, {
    onStored: (rows, seconds) => observation.onStored(sumStored(rows), seconds),
    erasureKeyFile,
  });
  const { toleranceMs } = history;
  const onCompared = recordCoverage(db);
  const context = { db, clock: systemClock, toleranceMs, storeMissing, onCompared, signal };
  const sweep = createSweep({ context, holder: randomUUID(), logger });
  repeatOnClouds(
    {
      part: 'comparison with the history',
      failure: "can't compare with the history",
      pauseMs: ROUND_MS,
      stopping,
      // Webhooks that wait in the queue would seem to be missing.
      mayBegin: async () => !(await isCatchingUp(db)),
      begin: () => forgetOldLinks(db),
      create: (source) => createSwept(source, logger),
      round: (source) => sweep.round(source),
      leave: ({ source }) => sweep.leave(source),
    },
    options,
    started,
  );
}

/** A source that is swept, with its client. */
function createSwept(config: CloudSource, logger: Logger) {
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
