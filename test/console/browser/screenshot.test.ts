import { statSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { coverageArea } from '../../../src/console/coverage/coverage-area.ts';
import { deliveriesArea } from '../../../src/console/deliveries/deliveries-area.ts';
import { destinationsArea } from '../../../src/console/destinations/destinations-area.ts';
import { eventsArea } from '../../../src/console/events/events-area.ts';
import { liveArea } from '../../../src/console/live/live-area.ts';
import { operatorLogArea } from '../../../src/console/operator-log/operator-log-area.ts';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { quarantineArea } from '../../../src/console/quarantine/quarantine-area.ts';
import { settingsForTests, sourcesForTests } from '../../support/sources.ts';
import { subscriptionsArea } from '../../../src/console/subscriptions/subscriptions-area.ts';
import type { MessageType } from '../../../src/events/domain.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { reportProcess } from '../../../src/store/server/processes.ts';
import { deliverAndCount } from '../../support/arrivals.ts';
import { hasChromium } from '../../support/browser.ts';
import { integrityForTests } from '../integrity/integrity-for-tests.ts';
import { overviewForTests, systemForTests } from '../overview/overview-for-tests.ts';
import { useConsole } from '../../support/use-console.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { nothingKnown } from '../../support/trust.ts';

/** Kept in the repository, for README.md. */
const FILE = path.resolve(import.meta.dirname, '../../../docs/console.png');

const MAX_BYTES = 300_000;

const MINUTE = 60_000;

/** Deliveries a minute, about, as in an account with mostly log-ins and location reports. */
const RATES: readonly (readonly [type: MessageType, rate: number])[] = [
  ['LOCATION_AP_CENTRIC', 90],
  ['LOCATION_CLIENT_CENTRIC', 40],
  ['AUTHENTICATION_LOG_ALL', 55],
  ['ACCOUNTING_LOG_ALL', 45],
  ['AUDIT_LOG_ALL', 18],
  ['CREDENTIAL_LOG_ALL', 4],
];

/** The same curve each time: a calm beginning, and a rise towards the end of the hour. */
const shareAt = (minute: number) => 0.6 + 0.25 * Math.sin(minute / 7) + (0.5 * minute) / 60;

describe.skipIf(!hasChromium())('the screenshot of README.md (needs Chromium)', () => {
  const admin = useConsole(areasOf, { seed });
  const browser = useBrowser(() => admin.url, { colorScheme: 'light' });

  test('shows the overview of the last hour; UPDATE_SCREENSHOT=1 writes it', async () => {
    const { page } = browser;
    await page.goto(admin.url);
    await page.locator('#arrivals-chart canvas').waitFor();
    await page.getByText('Nothing needs attention.').waitFor();
    expect(await page.getByRole('link', { name: 'hour', exact: true }).getAttribute('aria-current')).toBe(
      'true',
    );
    if (process.env['UPDATE_SCREENSHOT'] === '1') await page.screenshot({ path: FILE });
    expect(statSync(FILE).size).toBeLessThan(MAX_BYTES);
  });
});

async function seed(db: Db): Promise<void> {
  const now = Date.now();
  const given = Array.from({ length: 60 }, (_, minute) =>
    RATES.map(([messageType, rate]) => ({
      receivedAt: new Date(now - (60 - minute) * MINUTE + MINUTE / 2),
      messageType,
      count: Math.round(rate * shareAt(minute)),
      events: messageType.startsWith('LOCATION_') ? 5 : 1,
    })),
  );
  await deliverAndCount(db, ...given.flat());
  await reportProcess(
    db,
    {
      processId: '00000000-0000-4000-8000-000000000001',
      role: 'all',
      host: 'collector',
      pid: 4711,
      version: '1.0.0',
      startedAt: new Date(now - 90 * MINUTE),
    },
    {
      answers: { perSecond: 4.7, p50Ms: 2.8, p99Ms: 22, refusedPerSecond: 0 },
      spool: { bytes: 0, segments: 0, oldestSeconds: 0 },
      queueWorks: true,
      storing: { eventsPerSecond: 18, p50Ms: 5.1, p99Ms: 61 },
      memoryBytes: 190_000_000,
      eventLoopDelayP99Ms: 4,
      cpuPercent: 12,
    },
  );
}

function areasOf(db: Db) {
  const settled = { waiting: 0, active: 1, delayed: 0, failed: 0, oldestWaitingSeconds: undefined };
  return [
    overviewForTests(db),
    systemForTests(db, { queue: async () => settled }),
    eventsArea({ db, trust: nothingKnown, isFiltered: () => false }),
    peopleArea({ db }),
    liveArea({ db }),
    deliveriesArea({ db }),
    coverageArea({ db }),
    ...integrityForTests(db),
    quarantineArea({ db, maxBodyBytes: 1024, logger: pino({ level: 'silent' }) }),
    destinationsArea({ db, configured: () => [] }),
    subscriptionsArea({ db, sources: [], missing: [] }),
    operatorLogArea({ db }),
    sourcesForTests(db),
    settingsForTests(db),
  ];
}
