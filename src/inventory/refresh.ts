import type { Logger } from 'pino';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { Inventory } from '../cloud/inventory.ts';
import { failuresIn } from '../lib/failure-log.ts';
import type { Db } from '../store/server/database.ts';
import { endLease, takeLease } from '../store/reconcile/history.ts';
import { saveInventory, type InventoryRows, type InventoryTable } from '../store/reconcile/inventory.ts';
import { toDevice, toLocations, toOrganization, toPerson } from './to-rows.ts';
import { randomUUID } from 'node:crypto';
import { clientOf } from '../cloud/client.ts';
import { repeatOnClouds, type CloudSources } from '../sources/cloud-sources.ts';

/** Rounds are so far apart: after so long, what failed is tried again. */
const ROUND_MS = 10 * 60 * 1000;

/** What was read is read again after so long. The minute less: rounds do not begin to the millisecond. */
const REFRESH_MS = 59 * 60 * 1000;

/** A process that died keeps the lease for so long. */
const LEASE_MS = 3 * ROUND_MS;

/** A source and the API of its cloud. */
interface InventorySource {
  readonly source: string;
  readonly inventory: Inventory;
}

interface RefresherOptions {
  readonly db: Db;
  readonly clock: Clock;
  /** Identifies this process. */
  readonly holder: string;
  readonly logger: Logger;
  readonly signal?: AbortSignal;
}

/**
 * A table, the permission that reading it takes, and how it is refreshed. The time of an answer is that of its call: what happened
 * since then may have another name.
 */
const part = <Table extends InventoryTable>(
  table: Table,
  permission: string,
  read: (inventory: Inventory, signal?: AbortSignal) => Promise<readonly InventoryRows[Table][]>,
) => ({
  table,
  permission,
  refresh: async (db: Db, { source, inventory }: InventorySource, at: Date, signal?: AbortSignal) =>
    saveInventory(db, table, source, await read(inventory, signal), at),
});

/** One that fails does not hold up the others. */
const PARTS = [
  part('locations', 'locations:r', async (api, signal) => toLocations(await api.locations(signal))),
  part('devices', 'device:r', async (api, signal) => (await api.devices(signal)).map(toDevice)),
  part('organizations', 'hiq:r', async (api, signal) =>
    (await api.organizations(signal)).map(toOrganization),
  ),
  part('people', 'account-user-list', async (api, signal) => (await api.users(signal)).map(toPerson)),
];

/** Creates a refresher, which keeps the inventory of sources up to date. Its first round reads everything. */
export function createRefresher({ db, clock, holder, logger, signal }: RefresherOptions) {
  const refreshedAt = new Map<string, number>();
  const failures = failuresIn(logger);
  const leaseOf = (source: string) => `inventory ${source}`;

  return {
    /** Reads what is due of a source, and stores what differs. Call it every ten minutes. Failures are logged. */
    async round(of: InventorySource): Promise<void> {
      const { source } = of;
      if (!(await takeLease(db, leaseOf(source), holder, LEASE_MS))) return;
      for (const { table, permission, refresh } of PARTS) {
        const key = `${table} ${source}`;
        const at = clock.now();
        if (at - (refreshedAt.get(key) ?? -Infinity) < REFRESH_MS) continue;
        try {
          const saved = await refresh(db, of, new Date(at), signal);
          refreshedAt.set(key, at);
          failures.clear(key);
          if (saved.begun + saved.ended > 0) logger.debug({ source, table, ...saved }, 'inventory refreshed');
        } catch (error) {
          if (signal?.aborted === true) return;
          const what = `can't refresh the ${table} of the inventory (permission ${permission})`;
          failures.report(key, error, what, { fields: { source }, once: true });
        }
      }
    },
    /** Lets another process refresh the source. */
    async leave(source: string): Promise<void> {
      await endLease(db, leaseOf(source), holder);
    },
  };
}

/** Reads devices, locations, organizations and administrators of the sources that have an API, now and every hour. */
export function startInventory(
  { db, sources }: { readonly db: Db; readonly sources: CloudSources },
  started: AsyncDisposableStack,
): void {
  const { logger } = sources;
  const stopping = new AbortController();
  const { signal } = stopping;
  const refresher = createRefresher({ db, clock: systemClock, holder: randomUUID(), logger, signal });
  repeatOnClouds(
    {
      part: 'inventory',
      failure: "can't refresh the inventory",
      pauseMs: ROUND_MS,
      stopping,
      create(source) {
        const client = clientOf(db, source, { logger });
        return { source: source.name, config: source, client, inventory: client.inventory };
      },
      round: (source) => refresher.round(source),
      leave: ({ source }) => refresher.leave(source),
    },
    sources,
    started,
  );
}
