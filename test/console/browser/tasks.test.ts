import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, newApiToken } from '../../../src/access/credentials.ts';
import { accountsArea } from '../../../src/console/accounts/accounts-area.ts';
import type { Area } from '../../../src/console/area.ts';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { quarantineArea } from '../../../src/console/quarantine/quarantine-area.ts';
import { reportsArea } from '../../../src/console/reports/reports-area.ts';
import { periodAt } from '../../../src/lib/text/parse-time.ts';
import { readSignedDocument } from '../../../src/seal/signed-document.ts';
import { createSealer } from '../../../src/seal/sealer.ts';
import { generateLogKey, parseLogKey } from '../../../src/seal/signed-note.ts';
import { addAccessToken } from '../../../src/store/access/access-tokens.ts';
import { addDestination } from '../../../src/store/destinations/destinations.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { fileDestination, storeDeliveries, unreadableDelivery } from '../../support/actions.ts';
import { countAll } from '../../support/arrivals.ts';
import { hasChromium } from '../../support/browser.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { sourcesForTests } from '../../support/sources.ts';
import { knowing } from '../../support/trust.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { useConsole } from '../../support/use-console.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { outputsForTests } from '../../support/outputs.ts';
import { integrityForTests } from '../integrity/integrity-for-tests.ts';
import { overviewForTests } from '../overview/overview-for-tests.ts';
import { countPeople } from '../seeded-people.ts';
import { eventsForTests } from '../../support/events-area.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const TOKEN = 'the-admin-token-0123456789';
const MOST_ACTIONS = 4;
const NOW = Date.now();
const KEY = parseLogKey(generateLogKey('xiq-sink/5f0c2a52-0b43-4a51-9d10-4d2a6b0f7a0e'));

const PHONE = 'aa:bb:cc:dd:ee:ff';
const LOBBY = '00:11:22:33:44:55';
const OFFICE = '00:11:22:33:44:66';
const ATTIC = '00:11:22:33:44:77';

/** Midnight (UTC) of the day `days` ago. */
const midnight = (days: number) => Math.floor(NOW / DAY) * DAY - days * DAY;

const YESTERDAY = midnight(1);
/** The last Saturday whose night is over, in UTC. */
const SATURDAY = midnight(((new Date(NOW).getUTCDay() + 1) % 7) + (new Date(NOW).getUTCDay() <= 0 ? 7 : 0));
/** In the middle of the part of this week that has passed. */
const THIS_WEEK = (periodAt('week', new Date(NOW), 'UTC').since.getTime() + NOW) / 2;
const LAST_MONTH = periodAt(
  'month',
  new Date(periodAt('month', new Date(NOW), 'UTC').since.getTime() - DAY),
  'UTC',
);
const MARCH = Date.parse('2026-03-10T08:00:00Z');

/** A time as one types it into a field. */
const typed = (time: number) => new Date(time).toISOString().slice(0, 16).replace('T', ' ');

const audit = (userName: string, timeStamp: number, more: object) =>
  auditRecord({ timeStamp, userName, code: 40_500, ...more });

const location = (apMac: string, seenEpoch: number) => ({
  apMac,
  observations: [{ clientMac: PHONE, seenEpoch, rssi: -50, x: 1, y: 1, ssid: 'Guests' }],
});

const login = (ssid: string, username: string, timeStamp: number) => ({
  timeStamp,
  username,
  ssid,
  reply: 'Access-Reject',
  rejectReason: 'wrong password',
  callingStationId: PHONE,
});

const session = (username: string, timestamp: number) => ({
  timestamp,
  username,
  calling_station_id: PHONE,
  called_station_id: `${LOBBY}:corp`,
  ssid: 'corp',
  acct_session_id: `s-${timestamp}`,
  acct_start_time: new Date(timestamp - HOUR).toISOString(),
  acct_stop_time: new Date(timestamp).toISOString(),
});

async function seed(db: Db): Promise<void> {
  const logins = (count: number, time: number) =>
    Array.from({ length: count }, (_, n) => audit('ann@example.com', time + n, { code: 10_001 }));
  const unread = (description: string, receivedAt: number) =>
    unreadableDelivery(JSON.stringify([auditRecord({ description })]), { receivedAt });
  await storeDeliveries(
    db,
    queuedDelivery('AUDIT_LOG_ALL', [
      audit('hana.ito@example.com', NOW - 3 * DAY, {
        code: 40_001,
        description: 'PPSK user guest-42 was created',
      }),
      audit('bob@example.com', NOW - 2 * DAY, {
        code: 40_001,
        description: 'PPSK user guest-43 was created',
      }),
      audit('ann@example.com', SATURDAY + 23 * HOUR, { description: 'changed the policy at night' }),
      audit('ann@example.com', SATURDAY + 26 * HOUR, { description: 'changed the VLAN at night' }),
      audit('ann@example.com', SATURDAY + 10 * HOUR, { description: 'changed the radio by day' }),
      audit('bob@example.com', SATURDAY + 24 * HOUR, { description: 'bob was at work' }),
      audit('bob@example.com', LAST_MONTH.since.getTime() + DAY, {
        description: 'Changed the policy Z-Guests',
        config: { policy: 'Z-Guests' },
      }),
      audit('bob@example.com', LAST_MONTH.since.getTime() - DAY, {
        description: 'Created the policy Z-Guests',
        config: { policy: 'Z-Guests' },
      }),
      ...logins(3, THIS_WEEK),
      ...logins(5, THIS_WEEK - 7 * DAY),
    ]),
    queuedDelivery('LOCATION_AP_CENTRIC', [
      location(LOBBY, YESTERDAY + 13.5 * HOUR),
      location(OFFICE, YESTERDAY + 14 * HOUR + 5 * MINUTE),
      location(LOBBY, YESTERDAY + 15 * HOUR),
      location(ATTIC, NOW - 30 * HOUR),
      location(LOBBY, NOW - MINUTE),
      location(OFFICE, NOW - MINUTE),
    ]),
    queuedDelivery('AUTHENTICATION_LOG_ALL', [
      ...Array.from({ length: 3 }, (_, n) => login('Guests', `guest${n}`, NOW - (n + 1) * 10 * MINUTE)),
      login('Staff', 'ann', NOW - 5 * MINUTE),
      login('Printers', 'printer', NOW - 5 * HOUR),
    ]),
    queuedDelivery('ACCOUNTING_LOG_ALL', [session('dina', NOW - 2 * DAY), session('dina', NOW - DAY)]),
    queuedDelivery('AUDIT_LOG_ALL', [audit('ann@example.com', MARCH, {})], { receivedAt: MARCH }),
    unread('first of yesterday', YESTERDAY + HOUR),
    unread('second of yesterday', YESTERDAY + 2 * HOUR),
    unread('of the day before', YESTERDAY - HOUR),
  );
  await addDestination(db, 'siem', 0);
  await db
    .updateTable('destinations')
    .set({ last_error: 'connection refused by siem.example.com:6514', last_error_at: new Date(NOW - HOUR) })
    .execute();
  await countAll(db);
  await countPeople(db);
  const sealer = createSealer(db, KEY, async () => knowing(KEY));
  while ((await sealer.seal()) === 'more');
  await sealer.checkpoint();
}

type Step = () => Promise<unknown>;

describe.skipIf(!hasChromium())('tasks from the overview (needs Chromium)', () => {
  const directory = useDirectory();
  let url = '';
  const areas = (db: Db): readonly Area[] => {
    const outputs = outputsForTests(db, [fileDestination('siem', directory)]);
    return [
      overviewForTests(db, { destinations: () => [fileDestination('siem', directory)] }),
      eventsForTests(db),
      peopleArea({ db }),
      reportsArea({ db, schedules: () => [] }),
      quarantineArea({ db, maxBodyBytes: 1024 * 1024, logger: pino({ level: 'silent' }) }),
      outputs.destinations,
      outputs.alerts,
      sourcesForTests(db),
      accountsArea({ db }),
      ...integrityForTests(db, url, KEY),
    ];
  };
  const admin = useConsole(areas, {
    logs: true,
    // Once the first account exists, everyone has to log in.
    token: TOKEN,
    seed: async (db) => {
      url = admin.database.databaseUrl;
      await seed(db);
    },
  });
  const browser = useBrowser(() => admin.url, { timezoneId: 'UTC' });
  beforeAll(async () => {
    await browser.page.goto(admin.url);
    await browser.page.getByLabel('Admin token').fill(TOKEN);
    await browser.page.getByRole('button', { name: 'Log in' }).click();
    await browser.page.waitForURL(`${admin.url}/`);
  });
  const measured: string[] = [];
  afterAll(() => process.stdout.write(`${measured.join('\n')}\n`));

  const press = (key: string) => () => browser.page.keyboard.press(key);

  const openPage = (name: string) => () => browser.page.locator('#pages').getByRole('link', { name }).click();

  const openLink = (name: string | RegExp) => () =>
    browser.page.locator('main').getByRole('link', { name, exact: true }).first().click();

  const pushButton = (name: string | RegExp) => () =>
    browser.page.locator('main').getByRole('button', { name }).click();

  const type = (field: string, text: string) => () =>
    browser.page.getByLabel(field, { exact: true }).fill(text);

  const enter = (field: string, text: string) => async () => {
    await type(field, text)();
    await browser.page.keyboard.press('Enter');
  };

  const goTo = (text: string) => async () => {
    await browser.page.getByRole('dialog', { name: 'Go to' }).waitFor();
    await browser.page.keyboard.type(text);
    await browser.page.getByRole('option', { name: text }).first().waitFor();
    await browser.page.keyboard.press('Enter');
  };

  const openTimes = () => browser.page.locator('main details.picker > summary').first().click();

  const typeRange = (since: number, until: number) => async () => {
    await browser.page.getByRole('textbox', { name: /^From/ }).fill(typed(since));
    await browser.page.getByRole('textbox', { name: /^To/ }).fill(typed(until));
    await browser.page.keyboard.press('Enter');
  };

  /** Waits until the list has exactly these rows, each with its text. */
  const listShows =
    (...texts: readonly string[]) =>
    async () => {
      const rows = browser.page.locator('table.events tbody tr:not(.day)');
      await expect.poll(() => rows.count()).toBe(texts.length);
      const shown = await rows.allInnerTexts();
      texts.forEach((text, index) => expect(shown[index]).toContain(text));
    };

  /** Waits until the page has a text. */
  const shows = (text: string | RegExp) => () =>
    browser.page.locator('main').getByText(text).first().waitFor();

  const chooseMonth = (month: string) => async () => {
    await browser.page.getByRole('textbox', { name: 'Month' }).fill(month);
    await browser.page.keyboard.press('Enter');
    await browser.page.getByRole('heading', { name: `Certificate ${month}` }).waitFor();
  };

  const opened = Promise.withResolvers<Page>();

  /** Tasks from the overview, with what answers them; the last looks on. An action is a click, a key, or a text that is typed and submitted. */
  const TASKS: readonly [string, readonly Step[], Step, Step?][] = [
    [
      'who made this key',
      [press('Control+k'), goTo('action:private-key-created "guest-42"'), openTimes, openLink('Last 7 days')],
      listShows('hana.ito@example.com'),
    ],
    [
      'everything that an administrator did on Saturday night',
      [
        press('Control+k'),
        goTo('user:ann@example.com type:audit'),
        openTimes,
        typeRange(SATURDAY + 20 * HOUR, SATURDAY + 30 * HOUR),
      ],
      listShows('changed the VLAN at night', 'changed the policy at night'),
    ],
    [
      'where a client was at 14:05',
      [
        press('Control+k'),
        goTo(`client:${PHONE} type:location`),
        openTimes,
        typeRange(YESTERDAY + 14 * HOUR, YESTERDAY + 14 * HOUR + 10 * MINUTE),
      ],
      listShows(OFFICE),
    ],
    [
      'failed logins of the last hour by SSID',
      [() => browser.page.locator('#failed-logins strong a').click(), openTimes, openLink('Last hour')],
      async () => {
        const facet = browser.page
          .locator('.facets h2', { hasText: 'SSID' })
          .locator('xpath=following-sibling::ul[1]');
        await expect
          .poll(async () => (await facet.innerText()).replaceAll(/\s+/g, ' '))
          .toMatch(/Guests 3 .*Staff 1/);
        expect(await facet.innerText()).not.toContain('Printers');
      },
    ],
    [
      'prove March',
      [openPage('Certificate'), chooseMonth('2026-03'), pushButton('Prove 2026-03')],
      shows('The rows of the month were compared.'),
      async () => {
        expect(await problemsOf(browser.page, 'certificate-proven')).toEqual([]);
        const downloading = browser.page.waitForEvent('download');
        await openLink('Save certificate')();
        const download = await downloading;
        expect(download.suggestedFilename()).toBe('certificate-2026-03.html');
        const document = await readFile(await download.path(), 'utf8');
        expect(readSignedDocument(document, [KEY.publicText]).name).toBe('certificate 2026-03');
      },
    ],
    [
      'March proven and printed',
      [
        openPage('Certificate'),
        chooseMonth('2026-03'),
        pushButton(/^Prove/),
        async () => {
          browser.page.once('popup', opened.resolve);
          await openLink('Open to print')();
        },
      ],
      async () => (await opened.promise).getByRole('heading', { name: 'Certificate 2026-03' }).waitFor(),
      async () => expect(await problemsOf(await opened.promise, 'certificate-printed')).toEqual([]),
    ],
    [
      'silent access points',
      [openPage('Devices'), openLink(/silent/)],
      async () => {
        const rows = browser.page.locator('table.directory tbody tr');
        await expect.poll(() => rows.count()).toBe(1);
        expect(await rows.innerText()).toContain(ATTIC);
      },
    ],
    [
      'changes of a policy last month',
      [
        press('Control+k'),
        goTo('action:configuration-changed "Z-Guests"'),
        openTimes,
        openLink(
          new Date(LAST_MONTH.since).toLocaleDateString('en', {
            month: 'long',
            year: 'numeric',
            timeZone: 'UTC',
          }),
        ),
      ],
      listShows('Changed the policy Z-Guests'),
    ],
    [
      'sessions of a phone',
      [press('Control+k'), goTo(PHONE)],
      async () => {
        await browser.page.getByRole('heading', { name: 'Sessions' }).waitFor();
        expect(
          await browser.page.getByRole('group', { name: 'Sessions over time' }).locator('rect').count(),
        ).toBe(2);
      },
    ],
    [
      "this week's logins against last week's",
      [openPage('Reports'), openLink('Logins of administrators'), openTimes, openLink('This week')],
      async () => {
        const row = browser.page.getByRole('row', { name: /ann@example\.com/ });
        await row.waitFor();
        expect(await row.locator('td').allInnerTexts()).toEqual(expect.arrayContaining(['3', '5']));
      },
    ],
    [
      'why a destination is behind',
      [openPage('Destinations'), openLink('siem')],
      shows('connection refused by siem.example.com:6514'),
    ],
    [
      "an auditor with one customer's events",
      [
        openPage('Access'),
        type('Name', 'grace@example.com'),
        type('Sources', 'customer-a'),
        pushButton('Invite'),
      ],
      shows('The new link of grace@example.com, shown only once:'),
      async () => {
        expect(await problemsOf(browser.page, 'access')).toEqual([]);
        const link = (await browser.page.locator('.shown code').textContent()) ?? '';
        await browser.page.getByRole('link', { name: 'Continue' }).click();
        expect(await browser.page.getByRole('row', { name: /grace/ }).locator('td').allInnerTexts()).toEqual(
          expect.arrayContaining([
            'auditor',
            'customer-a',
            expect.stringMatching(/^invited ends in (23|24) h/),
            'never',
          ]),
        );
        const invited = await browser.page.context().browser()?.newContext();
        const page = await invited?.newPage();
        await page?.goto(link);
        expect(page && (await problemsOf(page, 'invitation'))).toEqual([]);
        await page?.getByLabel('Password', { exact: true }).fill('correct horse battery');
        await page?.getByLabel('Password again').fill('correct horse battery');
        await page?.getByRole('button', { name: 'Set password' }).click();
        await page?.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
        await invited?.close();
        await browser.page.reload();
        await browser.page.getByRole('cell', { name: 'password', exact: true }).waitFor();
        const digest = digestOf(newApiToken());
        const expiresAt = new Date(NOW + DAY);
        await addAccessToken(admin.db, {
          account: 'grace@example.com',
          digest,
          label: 'grafana',
          expires_at: expiresAt,
        });
        await browser.page.reload();
        await browser.page.getByRole('cell', { name: 'grafana', exact: true }).waitFor();
        expect(await problemsOf(browser.page, 'access-tokens')).toEqual([]);
        await browser.page.getByRole('button', { name: 'Revoke the token grafana' }).click();
        await browser.page.getByText('The token was revoked.').waitFor();
        await browser.page.getByRole('link', { name: 'Change grace@example.com' }).click();
        await browser.page.getByLabel('Role', { exact: true }).selectOption('operator');
        expect(await problemsOf(browser.page, 'access-change')).toEqual([]);
        await pushButton('Save')();
        await browser.page.getByRole('row', { name: /grace.*operator/ }).waitFor();
      },
    ],
    [
      'a new customer',
      [openPage('Sources'), openLink('Add a source'), enter('Name', 'customer-a')],
      shows('shown only once'),
    ],
    [
      'a new SIEM',
      [
        openPage('Destinations'),
        openLink('Splunk'),
        type('Address', 'https://splunk.example:8088'),
        enter('Token', 'a-token-of-splunk'),
      ],
      shows('splunk_hec, json'),
      async () => {
        expect(await problemsOf(browser.page, 'destinations')).toEqual([]);
        const [stored] = await admin.db.selectFrom('added_outputs').selectAll().execute();
        expect(stored).toMatchObject({ kind: 'destination', name: 'splunk' });
        expect(JSON.stringify(stored?.definition)).not.toContain('a-token');
      },
    ],
    [
      'an alert to Slack',
      [
        openPage('Alerts'),
        openLink('Switch on logins-failed'),
        enter(
          'Slack webhook (adds a destination)',
          'https://hooks.slack.com/services/T0/B0/a-secret-of-slack',
        ),
      ],
      () => browser.page.getByRole('button', { name: 'Switch off logins-failed' }).waitFor(),
      async () => {
        expect(await problemsOf(browser.page, 'alerts')).toEqual([]);
        const rule = await admin.db
          .selectFrom('added_outputs')
          .selectAll()
          .where('kind', '=', 'rule')
          .execute();
        expect(rule).toMatchObject([{ name: 'logins-failed', definition: { destinations: ['slack'] } }]);
      },
    ],
    [
      "yesterday's quarantine replayed",
      [openPage('Quarantine'), openTimes, openLink('Yesterday'), pushButton('Replay all 2')],
      shows('2 replayed: 2 events, 0 duplicates, 0 quarantined again; 0 not replayed.'),
    ],
  ];

  it.each(TASKS)('%s', async (name, actions, isAnswered, after) => {
    await browser.page.goto(admin.url);
    await browser.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const began = performance.now();
    for (const act of actions) await act();
    await isAnswered();
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    measured.push(`${actions.length} actions, ${seconds} s: ${name}`);
    expect(actions.length).toBeLessThanOrEqual(MOST_ACTIONS);
    expect(browser.problems).toEqual([]);
    await after?.();
  });
});
