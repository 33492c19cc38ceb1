import { statSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULTS } from '../../../emulator/command-options.ts';
import { EMULATOR_LOGINS } from '../../../emulator/accounts.ts';
import { createEmulator } from '../../../emulator/emulator.ts';
import { createEndUsers } from '../../../emulator/events/end-users.ts';
import { createJournal, type Entry } from '../../../emulator/events/journal.ts';
import { createNetwork } from '../../../emulator/events/network.ts';
import { createRandom } from '../../../emulator/random.ts';
import { createWorld } from '../../../emulator/world/world.ts';
import type { CloudType } from '../../../src/events/domain.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { hasChromium } from '../../support/browser.ts';
import { queuedDelivery } from '../../support/deliveries.ts';
import { SECRET, startProgram, type Program } from '../../support/program.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { useDatabase } from '../../support/use-database.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Kept in the repository, for README.md. */
const fileOf = (name: string) => path.resolve(import.meta.dirname, `../../../docs/${name}.png`);

const MAX_BYTES = 350_000;

/** What happens in five minutes of a busy network: mostly location reports, few changes. */
const IN_FIVE_MINUTES: readonly (readonly [type: CloudType, times: number])[] = [
  ['LOCATION_AP_CENTRIC', 24],
  ['LOCATION_CLIENT_CENTRIC', 8],
  ['AUTHENTICATION_LOG_ALL', 9],
  ['ACCOUNTING_LOG_ALL', 7],
  ['AUDIT_LOG_ALL', 3],
  ['CREDENTIAL_LOG_ALL', 1],
];

/** Offices are busy at noon, and nearly empty at night. */
const shareAt = (time: number) => {
  const hour = (time / HOUR_MS) % 24;
  return 0.15 + 0.85 * Math.exp(-(((hour - 13) / 4) ** 2));
};

/** The last day of the emulated network, as the emulator with the same seed names its devices and people. */
async function storeLastDay(db: Db, until: number): Promise<void> {
  let now = until;
  const clock = { now: () => now, sleep: async () => undefined };
  const world = createWorld(DEFAULTS.seed, DEFAULTS.scale, clock);
  const journal = createJournal({ clock });
  const parts = { world, journal, clock, random: createRandom(DEFAULTS.seed, 'network') };
  const network = createNetwork({
    ...parts,
    endUsers: createEndUsers(parts),
    users: DEFAULTS.scale.users,
    alike: () => 0,
  });
  let entries: Entry[] = [];
  journal.subscribe((entry) => entries.push(entry));
  for (let time = until - 24 * HOUR_MS; time < until; time += 5 * MINUTE_MS) {
    for (const [type, times] of IN_FIVE_MINUTES) {
      const happening = Math.max(1, Math.round(times * shareAt(time)));
      for (let number = 0; number < happening; number += 1) {
        now = Math.round(time + ((number + 0.5) / happening) * 5 * MINUTE_MS);
        network.happen(type);
      }
    }
    await storeDeliveries(db, ...deliveriesOf(entries, Math.min(time + 5 * MINUTE_MS, until)));
    entries = [];
  }
}

const deliveriesOf = (entries: readonly Entry[], receivedAt: number) =>
  [...Map.groupBy(entries, ({ messageType }) => messageType)].map(([type, same]) =>
    queuedDelivery(
      type,
      same.map(({ sent }) => sent),
      { receivedAt },
    ),
  );

describe.skipIf(!hasChromium())('the pictures of README.md (need Chromium)', () => {
  const database = useDatabase();
  const emulator = createEmulator({ rate: 0 });
  const directory = useDirectory();
  let program: Program;

  beforeAll(async () => {
    const cloudUrl = await emulator.listen(0);
    await storeLastDay(database.db, Date.now());
    program = await startProgram({
      DATABASE_URL: database.databaseUrl,
      READER_DATABASE_URL: database.readerUrl,
      DATA_DIR: directory,
      WEBHOOK_SECRET: SECRET,
      CLOUD_API_URL: cloudUrl,
      CLOUD_USERNAME: EMULATOR_LOGINS.administrator.username,
      CLOUD_PASSWORD: EMULATOR_LOGINS.administrator.password,
      HISTORY: 'off',
      FORWARD_TO: `file://${directory}/forwarded.ndjson`,
    });
    await waitFor(async () => {
      const metrics = await (await fetch(`${program.adminUrl}/metrics`)).text();
      return (
        /^xiq_sink_seal_behind_events 0$/m.test(metrics) &&
        /^xiq_sink_forward_behind_events\S* 0$/m.test(metrics)
      );
    }, 100_000);
  });
  afterAll(async () => {
    await program?.end('SIGTERM');
    await emulator.close();
  });

  // Opens its page after the program has started.
  const browser = useBrowser(() => program.adminUrl, {
    colorScheme: 'light',
    viewport: { width: 1440, height: 900 },
  });

  /** Shows a page as `isDrawn` waits for it; UPDATE_SCREENSHOT=1 writes its picture. Resolves with the size of the file. */
  async function show(name: string, address: string, isDrawn: (page: Page) => Promise<unknown>) {
    const { page } = browser;
    await page.goto(program.adminUrl + address);
    await isDrawn(page);
    // The click of a row that was below scrolled there.
    await page.evaluate(() => scrollTo(0, 0));
    if (process.env['UPDATE_SCREENSHOT'] === '1') await page.screenshot({ path: fileOf(name) });
    return statSync(fileOf(name)).size;
  }

  test('the overview of the last day', async () => {
    const bytes = await show('console', '/?since=24h', async (page) => {
      await page.locator('#arrivals-chart canvas').waitFor();
      // What arrived is counted every few seconds.
      await page.locator('[data-legend]').filter({ hasText: /[1-9]/ }).waitFor();
      await page.getByText('Nothing needs attention.').waitFor();
    });
    expect(bytes).toBeLessThan(MAX_BYTES);
  });

  test('what administrators did, and one of their changes', async () => {
    const bytes = await show('console-events', '/events?since=24h&q=type%3Aaudit', async (page) => {
      await page.locator('canvas').first().waitFor();
      const row = page.getByRole('row').filter({ hasText: 'Configuration changed' }).first();
      const heading = page.getByRole('complementary', { name: 'Event' }).getByRole('heading', { level: 2 });
      // A click is lost if the list is drawn anew, with the facets beside it, before the button is released.
      await waitFor(async () => {
        await row.click();
        return heading.isVisible();
      });
    });
    expect(bytes).toBeLessThan(MAX_BYTES);
  });

  test('the person with the most logins', async () => {
    const { username } = await database.db
      .selectFrom('log_entries')
      .select('username')
      .where('message_type', '=', 'AUTHENTICATION_LOG_ALL')
      .groupBy('username')
      .orderBy((query) => query.fn.countAll(), 'desc')
      .executeTakeFirstOrThrow();
    const bytes = await show('console-person', `/people/user?name=${username}`, async (page) => {
      await page.getByRole('heading', { name: username ?? '', exact: true }).waitFor();
    });
    expect(bytes).toBeLessThan(MAX_BYTES);
  });
});
