import { randomUUID } from 'node:crypto';
import { systemClock } from '../clock.ts';
import { createCloudClient } from '../cloud/client.ts';
import { createRefresher, ROUND_MS } from '../inventory/refresh.ts';
import { openStoringDatabase } from '../store/database.ts';
import { openFor, type PartOptions } from './background.ts';
import { repeatOnClouds } from './cloud-sources.ts';

/** Reads devices, locations and administrators of the sources that have an API, now and every hour. */
export function startInventory(options: PartOptions, started: AsyncDisposableStack): void {
  const { live, logger } = options;
  if (live.config.inventory === 'off') return;
  const stopping = new AbortController();
  const { signal } = stopping;
  const db = openFor('the inventory', openStoringDatabase, options, started);
  const refresher = createRefresher({ db, clock: systemClock, holder: randomUUID(), logger, signal });
  repeatOnClouds(
    {
      part: 'inventory',
      failure: "can't refresh the inventory",
      pauseMs: ROUND_MS,
      stopping,
      create(source) {
        const { apiUrl: baseUrl, credentials } = source.cloud;
        const client = createCloudClient({ baseUrl, credentials, logger });
        return { source: source.name, config: source, client, inventory: client.inventory };
      },
      round: (source) => refresher.round(source),
      leave: ({ source }) => refresher.leave(source),
    },
    options,
    started,
  );
}
