import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import { systemClock } from '../clock.ts';
import { createCloudClient } from '../cloud/client.ts';
import { describeError } from '../errors.ts';
import { createRefresher, ROUND_MS } from '../inventory/refresh.ts';
import { openStoringDatabase } from '../store/database.ts';
import { closing } from './closing.ts';
import { followCloudSources } from './cloud-sources.ts';
import type { SweepNeeds } from './history.ts';
import { logLostConnections } from './open-store.ts';
import { repeat } from './repeat.ts';

/** A large account is read in many calls; the others need not wait for it. */
const SOURCES_AT_ONCE = 2;

/** Reads devices, locations and administrators of the sources that have an API, now and every hour. */
export function startInventory(
  { live, databaseUrl, logger }: Pick<SweepNeeds, 'live' | 'databaseUrl' | 'logger'>,
  started: AsyncDisposableStack,
): void {
  const { config } = live;
  if (config.inventory === 'off') return;
  const stopping = new AbortController();
  const { signal } = stopping;
  const db = openStoringDatabase(databaseUrl, logLostConnections(logger));
  started.defer(closing(logger, 'database of the inventory', () => db.destroy()));
  const refresher = createRefresher({ db, clock: systemClock, holder: randomUUID(), logger, signal });
  const sources = followCloudSources(
    live,
    (source) => {
      const { apiUrl: baseUrl, credentials } = source.cloud;
      const client = createCloudClient({ baseUrl, credentials, logger });
      return { source: source.name, config: source, client, inventory: client.inventory };
    },
    ({ source }) => refresher.leave(source),
  );
  const atOnce = pLimit(SOURCES_AT_ONCE);

  async function round(): Promise<'done'> {
    if (!live.knowsStored()) return 'done';
    const all = await sources.follow();
    await Promise.all(all.map((source) => atOnce(() => refresher.round(source))));
    return 'done';
  }

  const refreshing = repeat(ROUND_MS, round, (error) => {
    if (!signal.aborted) logger.warn({ err: error }, `can't refresh the inventory: ${describeError(error)}`);
  });
  const stop = async () => {
    stopping.abort();
    await refreshing.stop();
    await sources.leaveAll();
  };
  started.defer(closing(logger, 'inventory', stop));
}
