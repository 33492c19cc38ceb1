import type { Area } from '../../../src/console/area.ts';
import { overviewArea } from '../../../src/console/overview/overview-area.ts';
import type { OverviewOptions } from '../../../src/console/overview/read-overview.ts';
import { systemArea, type SystemOptions } from '../../../src/console/system/system-area.ts';
import type { Db } from '../../../src/store/server/database.ts';

/** The overview of a process that is well, but for what is said otherwise. */
export function overviewForTests(db: Db, options: Partial<OverviewOptions> = {}): Area {
  return overviewArea({
    db,
    readiness: async () => ({ checks: [{ name: 'queue', state: 'ok', why: '' }] }),
    silences: async () => [],
    destinations: () => [],
    firstDelivery:
      'curl -H "Authorization: Bearer $(cat data/webhook-secret)" http://localhost:8080/ingest/default',
    ...options,
  });
}

const KEEPING: ReturnType<SystemOptions['keeping']> = {
  retentionMonths: {
    audit: 12,
    location: undefined,
    log: undefined,
    alerts: undefined,
    other: undefined,
    deliveries: undefined,
  },
  archive: { afterMonths: undefined },
};

/** The page System of a process that is well, but for what is said otherwise. */
export function systemForTests(db: Db, options: Partial<SystemOptions> = {}): Area {
  return systemArea({
    db,
    queue: async () => ({ waiting: 7, active: 2, delayed: 1, failed: 0, oldestWaitingSeconds: 90 }),
    freeDisk: async () => 5_000_000_000,
    keeping: () => KEEPING,
    ...options,
  });
}
