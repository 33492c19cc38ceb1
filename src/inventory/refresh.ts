import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Inventory } from '../cloud/inventory.ts';
import { createFailureLog } from '../failure-log.ts';
import type { Db } from '../store/database.ts';
import { endLease, takeLease } from '../store/history.ts';
import { saveInventory, type InventoryTable, type SavedVersions } from '../store/inventory.ts';
import { toDevice, toLocations, toPerson } from './to-rows.ts';

/** Rounds are so far apart: after so long, what failed is tried again. */
export const ROUND_MS = 10 * 60 * 1000;

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

/** Keeps the inventory of sources up to date, round by round. */
export interface Refresher {
  /** Reads what is due of a source, and stores what differs. Call it every ten minutes. Failures are logged. */
  round(source: InventorySource): Promise<void>;
  /** Lets another process refresh the source. */
  leave(source: string): Promise<void>;
}

/** The time of an answer is that of its call: what happened since then may have another name. */
type Refresh = (db: Db, source: InventorySource, at: Date, signal?: AbortSignal) => Promise<SavedVersions>;

/** A table, the permission that reading it takes, and how it is refreshed. One that fails does not hold up the others. */
const PARTS: readonly (readonly [InventoryTable, permission: string, Refresh])[] = [
  [
    'locations',
    'locations:r',
    async (db, { source, inventory }, at, signal) =>
      saveInventory(db, 'locations', source, toLocations(await inventory.locations(signal)), at),
  ],
  [
    'devices',
    'device:r',
    async (db, { source, inventory }, at, signal) =>
      saveInventory(db, 'devices', source, (await inventory.devices(signal)).map(toDevice), at),
  ],
  [
    'people',
    'account-user-list',
    async (db, { source, inventory }, at, signal) =>
      saveInventory(db, 'people', source, (await inventory.users(signal)).map(toPerson), at),
  ],
];

/** Creates a refresher. Its first round reads everything. */
export function createRefresher({ db, clock, holder, logger, signal }: RefresherOptions): Refresher {
  const refreshedAt = new Map<string, number>();
  const failures = createFailureLog(logger);
  const leaseOf = (source: string) => `inventory ${source}`;

  return {
    async round(of) {
      const { source } = of;
      if (!(await takeLease(db, leaseOf(source), holder, LEASE_MS))) return;
      for (const [table, permission, refresh] of PARTS) {
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
          failures.report(key, error, { source }, what);
        }
      }
    },
    async leave(source) {
      await endLease(db, leaseOf(source), holder);
    },
  };
}
