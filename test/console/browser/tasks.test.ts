import { describe, expect, it } from 'vitest';
import { eventsArea } from '../../../src/console/events/events-area.ts';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { deliverAndCount } from '../../support/arrivals.ts';
import { hasChromium } from '../../support/browser.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { integrityForTests } from '../integrity/integrity-for-tests.ts';
import { overviewForTests } from '../overview/overview-for-tests.ts';
import { storeEvents } from '../seeded-events.ts';
import { useConsole } from '../../support/use-console.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { nothingKnown } from '../../support/trust.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const MOST_ACTIONS = 4;
const CLIENT = 'aa:bb:cc:dd:ee:ff';
const LOBBY = '00:11:22:33:44:55';
const OFFICE = '00:11:22:33:44:66';

/** Midnight (UTC) of the day `days` ago. */
const midnight = (days: number) => Math.floor(Date.now() / DAY) * DAY - days * DAY;

/** The last Saturday that is over, in UTC. */
const SATURDAY = midnight(((new Date().getUTCDay() + 7 - 6) % 7) + (new Date().getUTCDay() <= 0 ? 7 : 0));
const YESTERDAY = midnight(1);

/** A time as one types it into a field. */
const typed = (time: number) => new Date(time).toISOString().slice(0, 16).replace('T', ' ');

async function seed(db: Db): Promise<void> {
  const audit = (userName: string, time: number, more: object) =>
    auditRecord({ timeStamp: time, userName, code: 40_500, ...more });
  const location = (apMac: string, time: number) => ({
    apMac,
    observations: [{ clientMac: CLIENT, seenEpoch: time, rssi: -50, x: 1, y: 1, ssid: 'Guests' }],
  });
  const login = (ssid: string, username: string, time: number) => ({
    timeStamp: time,
    username,
    ssid,
    reply: 'Access-Reject',
    rejectReason: 'wrong password',
    callingStationId: CLIENT,
  });
  const now = Date.now();
  const march = Date.parse('2026-03-10T08:00:00Z');
  await storeEvents(db, [
    queuedDelivery('AUDIT_LOG_ALL', [
      audit('hana.ito@example.com', now - 3 * DAY, {
        code: 40_001,
        description: 'PPSK user guest-42 was created',
      }),
      audit('bob@example.com', now - 2 * DAY, {
        code: 40_001,
        description: 'PPSK user guest-43 was created',
      }),
      audit('ann@example.com', SATURDAY + 23 * HOUR, { description: 'changed the policy at night' }),
      audit('ann@example.com', SATURDAY + 26 * HOUR, { description: 'changed the VLAN at night' }),
      audit('ann@example.com', SATURDAY + 10 * HOUR, { description: 'changed the radio by day' }),
      audit('bob@example.com', SATURDAY + 24 * HOUR, { description: 'bob was at work' }),
    ]),
    queuedDelivery('LOCATION_AP_CENTRIC', [
      location(LOBBY, YESTERDAY + 13.5 * HOUR),
      location(OFFICE, YESTERDAY + 14 * HOUR + 5 * MINUTE),
      location(LOBBY, YESTERDAY + 15 * HOUR),
    ]),
    queuedDelivery('AUTHENTICATION_LOG_ALL', [
      ...Array.from({ length: 3 }, (_, n) => login('Guests', `guest${n}`, now - (n + 1) * 10 * MINUTE)),
      login('Staff', 'ann', now - 5 * MINUTE),
      login('Printers', 'printer', now - 5 * HOUR),
    ]),
    queuedDelivery('AUDIT_LOG_ALL', [audit('ann@example.com', march, {})], { receivedAt: march }),
  ]);
  await deliverAndCount(db);
}

describe.skipIf(!hasChromium())('tasks from the overview (needs Chromium)', () => {
  const admin = useConsole(
    (db) => [
      overviewForTests(db),
      eventsArea({ db, trust: nothingKnown, isFiltered: () => false }),
      peopleArea({ db }),
      ...integrityForTests(db),
    ],
    { seed },
  );
  const browser = useBrowser(() => admin.url, { timezoneId: 'UTC' });

  /** Does a task from the overview. An action is a click, a key, or a text that is typed and submitted. */
  async function expectInFourActions(
    steps: readonly (() => Promise<void>)[],
    isAnswered: () => Promise<void>,
  ) {
    await browser.page.goto(admin.url);
    await browser.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    for (const step of steps) await step();
    await isAnswered();
    expect(steps.length).toBeLessThanOrEqual(MOST_ACTIONS);
    expect(browser.problems).toEqual([]);
  }

  const press = (key: string) => () => browser.page.keyboard.press(key);

  const search = (line: string) => async () => {
    await browser.page.getByRole('dialog', { name: 'Go to' }).waitFor();
    await browser.page.keyboard.type(line);
    await browser.page.keyboard.press('Enter');
    await browser.page.waitForURL(/\/events\?/);
  };

  const openTimes = () => browser.page.locator('form.search details.picker > summary').click();

  const choose = (label: string) => () =>
    browser.page.getByRole('link', { name: label, exact: true }).click();

  const typeRange = (since: number, until: number) => async () => {
    await browser.page.getByRole('textbox', { name: /^From/ }).fill(typed(since));
    await browser.page.getByRole('textbox', { name: /^To/ }).fill(typed(until));
    await browser.page.keyboard.press('Enter');
  };

  const rows = () => browser.page.locator('table.events tbody tr');

  /** Waits until the list has exactly these rows, each with its text. */
  const listShows =
    (...texts: readonly string[]) =>
    async () => {
      await expect.poll(() => rows().count(), { timeout: 5_000 }).toBe(texts.length);
      const shown = await rows().allInnerTexts();
      texts.forEach((text, index) => expect(shown[index]).toContain(text));
    };

  it('who made this key', async () => {
    await expectInFourActions(
      [press('Control+k'), search('action:private-key-created "guest-42"'), openTimes, choose('Last 7 days')],
      listShows('hana.ito@example.com'),
    );
  });

  it('everything that an administrator did on Saturday night', async () => {
    await expectInFourActions(
      [
        press('Control+k'),
        search('user:ann@example.com type:audit'),
        openTimes,
        typeRange(SATURDAY + 20 * HOUR, SATURDAY + 30 * HOUR),
      ],
      listShows('changed the VLAN at night', 'changed the policy at night'),
    );
  });

  it('where a client was at 14:05', async () => {
    await expectInFourActions(
      [
        press('Control+k'),
        search(`client:${CLIENT} type:location`),
        openTimes,
        typeRange(YESTERDAY + 14 * HOUR, YESTERDAY + 14 * HOUR + 10 * MINUTE),
      ],
      listShows(OFFICE),
    );
  });

  it('failed logins of the last hour by SSID', async () => {
    await expectInFourActions(
      [() => browser.page.locator('#failed-logins .figure a').click(), openTimes, choose('Last hour')],
      async () => {
        const facet = browser.page
          .locator('.facets h2', { hasText: 'SSID' })
          .locator('xpath=following-sibling::ul[1]');
        await expect
          .poll(async () => (await facet.innerText()).replaceAll(/\s+/g, ' '), { timeout: 5_000 })
          .toMatch(/Guests 3 .*Staff 1/);
        expect(await facet.innerText()).not.toContain('Printers');
      },
    );
  });

  it('prove March', async () => {
    await expectInFourActions(
      [
        () => browser.page.getByRole('link', { name: 'Certificate' }).click(),
        async () => {
          await browser.page.getByRole('textbox', { name: 'Month' }).fill('2026-03');
          await browser.page.keyboard.press('Enter');
        },
      ],
      async () => {
        await browser.page.getByRole('heading', { level: 1, name: 'Certificate 2026-03' }).waitFor();
        const received = browser.page.getByRole('region', {
          name: 'Received and stored, by source and message type',
        });
        expect(await received.innerText()).toMatch(/AUDIT_LOG_ALL\s+1\s+1\s+1\s+0\s+0\s+yes/);
      },
    );
  });
});
