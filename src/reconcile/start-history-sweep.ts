import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { systemClock } from '../lib/clock.ts';
import { clientOf } from '../cloud/client.ts';
import { createRecordStore, type BatchStoreOptions } from '../handlers/store-batch.ts';
import { createCallBudget } from './call-budget.ts';
import type { HistoryContext } from './compare-history.ts';
import { recordCoverage } from './coverage.ts';
import { loggedAmong } from './log-kinds.ts';
import { ROUND_MS } from './schedule.ts';
import { createSweep } from './sweep.ts';
import type { Db } from '../store/server/database.ts';
import { forgetOldLinks } from '../store/reconcile/history.ts';
import { isCatchingUp } from '../store/counts/read-arrivals.ts';
import { repeatOnClouds, type CloudSource, type CloudSources } from '../sources/cloud-sources.ts';

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

interface HistorySweep extends Pick<BatchStoreOptions, 'observer' | 'erasureKeyFile'> {
  /** Connections for the history alone. */
  readonly db: Db;
  readonly sources: CloudSources;
  /** How far apart the times of a log record and of its event may be. */
  readonly toleranceMs: number;
}

/**
 * Compares the sources that have an API with its logs, every ten minutes, and fetches events that no webhook delivered. The first
 * round also compares what was not compared before, because this service was down.
 */
export function startHistorySweep(
  { db, sources, toleranceMs, ...storing }: HistorySweep,
  started: AsyncDisposableStack,
): void {
  const { logger } = sources;
  const stopping = new AbortController();
  const { signal } = stopping;
  const storeMissing = createMissingStore(db, logger, signal, storing);
  const onCompared = recordCoverage(db);
  const context = { db, clock: systemClock, toleranceMs, storeMissing, onCompared, signal };
  const sweep = createSweep({ context, holder: randomUUID(), logger });
  repeatOnClouds(
    {
      part: 'comparison with the history',
      failure: "can't compare with the cloud's logs",
      pauseMs: ROUND_MS,
      stopping,
      // Webhooks that wait in the queue would seem to be missing.
      mayBegin: async () => !(await isCatchingUp(db)),
      begin: () => forgetOldLinks(db),
      create: (source) => createSwept(source, db, logger),
      round: (source) => sweep.round(source),
      leave: ({ source }) => sweep.leave(source),
    },
    sources,
    started,
  );
}

function createSwept(config: CloudSource, db: Db, logger: Logger) {
  const { name: source, messageTypes } = config;
  const budget = createCallBudget(systemClock);
  const client = clientOf(db, config, { logger, fetch: budget.fetch });
  return {
    source,
    config,
    client,
    logs: client.logs,
    restrictedTo: client.hiq.restrictedTo,
    budget,
    messageTypes: loggedAmong(messageTypes),
  };
}
