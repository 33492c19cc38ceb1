import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import type { Page } from 'playwright-core';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventsArea } from '../../../src/console/events/events-area.ts';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { createBatchStore } from '../../../src/handlers/store-batch.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { startAdmin } from '../../support/admin.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { runsInBrowser, openBrowser, watchPage } from '../../support/browser.ts';
import type { OpenBrowser } from '../../support/browser.ts';
import { saveInventory } from '../../../src/store/inventory.ts';
import { readOnlyQuery } from '../../../src/store/read-only-query.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { RANGE, ROAMING_CLIENT, seedBulk, seedEvents } from '../seeded-events.ts';

const BULK = 3_000;

const range = `since=${RANGE.since}&until=${RANGE.until}`;

describe.skipIf(!runsInBrowser())('events in a browser (npm run test:console, needs Chromium)', () => {
  let test: TestDatabase;
  let admin: RunningAdmin;
  let browser: OpenBrowser;
  let page: Page;
  let problems: readonly string[];

  beforeAll(async () => {
    test = await createTestDatabase();
    await seedEvents(test.db);
    await seedBulk(test.db, BULK);
    const ann = { person_id: '1', user_name: 'ann', name: 'Ann Berg', role: 'Operator' };
    await saveInventory(test.db, 'people', 'default', [ann], new Date('2026-01-01'));
    admin = await startAdmin(
      [eventsArea({ db: test.db, isFiltered: () => false }), peopleArea(test)],
      test.db,
    );
    browser = await openBrowser({ viewport: { width: 1280, height: 900 }, hasTouch: true });
    page = await browser.context.newPage();
    problems = watchPage(page, admin.url);
  });
  afterAll(async () => {
    await browser.close();
    await admin.close();
    await test.drop();
  });

  const rows = () => page.locator('tbody tr');

  /** Opens an address of the console, and waits for what its modules draw. */
  async function openSearch(query: string): Promise<void> {
    await page.goto(`${admin.url}/events?${query}`);
    await page.waitForSelector('[data-histogram][data-ready]');
  }

  /** The range that the address asks for; the times of the rows lie in it, and there are some. */
  async function expectRowsInRange(): Promise<{ since: string; until: string }> {
    const query = new URL(page.url()).searchParams;
    const since = query.get('since') ?? '';
    const until = query.get('until') ?? '';
    const times = await rows()
      .locator('time')
      .evaluateAll((all) => all.map((time) => time.getAttribute('datetime') ?? ''));
    expect(times.length).toBeGreaterThan(0);
    expect(times.every((time) => time >= since && time < until)).toBe(true);
    return { since, until };
  }

  it('are searched by a line of terms, which the address contains', async () => {
    await openSearch(range);
    const line = page.getByRole('combobox', { name: 'Search events' });
    await line.fill('user:AN*');
    await line.press('Enter');
    await page.waitForURL(/q=user/);
    await line.fill('"change 10"');
    await line.press('Enter');
    await page.waitForURL(/change/);
    expect(await page.locator('.chip').count()).toBe(2);
    // 10, and 100 to 108; those of ann are even.
    expect(await rows().count()).toBe(6);
    const again = await browser.context.newPage();
    await again.goto(page.url());
    expect(await again.locator('tbody').textContent()).toBe(await page.locator('tbody').textContent());
    await again.close();
    await page.getByRole('link', { name: 'Remove user:AN*' }).click();
    await page.waitForURL((address) => !address.href.includes('AN*'));
    expect(await rows().count()).toBe(11);
    await line.press('Backspace');
    expect(await line.inputValue()).toBe('"change 10"');
  });

  it('are counted by person, included by a click and excluded by Alt and a click', async () => {
    await openSearch(`${range}&q=type:audit`);
    const bob = page.locator('.facets li', { hasText: 'bob' });
    expect(await bob.textContent()).toBe('bob60');
    await bob.getByRole('link').click();
    await page.waitForURL(/user/);
    expect(await page.locator('.person a').allTextContents()).toEqual(
      Array.from({ length: 50 }, () => 'bob'),
    );
    await openSearch(`${range}&q=type:audit`);
    await bob.getByRole('link').click({ modifiers: ['Alt'] });
    await page.waitForURL(/-user/);
    expect(await page.locator('.person a').first().textContent()).toBe('ann');
  });

  it('are listed while a facet is still counted; all of its values are searched by their beginning', async () => {
    const timeStamp = Date.parse('2026-02-01T12:00Z');
    const store = createBatchStore(test.db, pino({ level: 'silent' }), new AbortController().signal);
    const guests = Array.from({ length: 25 }, (_, n) => auditRecord({ timeStamp, userName: `guest-${n}` }));
    await store({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', guests)] });
    const held = Promise.withResolvers<undefined>();
    await page.route('**/events/facets?*facet=user*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await openSearch('since=2026-02-01T00:00:00.000Z&until=2026-02-02T00:00:00.000Z');
    expect(await rows().count()).toBe(25);
    await page.locator('.facets h2', { hasText: 'Source' }).waitFor();
    held.resolve(undefined);
    await page.unrouteAll({ behavior: 'wait' });
    const guest = page.locator('.facets li', { hasText: 'guest-' });
    await guest.first().waitFor();
    expect(await guest.count()).toBe(10);
    await page.getByRole('button', { name: 'more' }).click();
    await expect.poll(() => guest.count()).toBe(25);
    await page.getByLabel('Search Person').fill('GUEST-2');
    await expect.poll(() => guest.count()).toBe(6);
    expect(await problemsOf(page, 'events-facet')).toEqual([]);
    await page.getByRole('button', { name: 'less' }).click();
    await expect.poll(() => guest.count()).toBe(10);
  });

  it('are suggested with their counts after two letters, and chosen by keys', async () => {
    await openSearch(range);
    const line = page.getByRole('combobox', { name: 'Search events' });
    const suggestions = page.locator('#suggestions').getByRole('option');
    await line.pressSequentially('-user:b');
    await suggestions.getByText('-user:bob').waitFor();
    expect(await suggestions.allTextContents()).toEqual(['-user:bob60']);
    expect(await problemsOf(page, 'events-suggestions')).toEqual([]);
    await line.press('ArrowDown');
    await line.press('Enter');
    expect(await page.locator('.chip.excluded').textContent()).toContain('-user:bob');
    await line.pressSequentially('an');
    await suggestions.getByText('user:ann').click();
    await line.press('Backspace');
    expect(await line.inputValue()).toBe('user:ann');
    await line.press('Enter');
    await page.waitForURL(/-user.*user/);
    expect(await page.locator('.chip').count()).toBe(2);
  });

  it('are found by a MAC address of any notation, which becomes a chip as it is pasted', async () => {
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await openSearch(range);
    const line = page.getByRole('combobox', { name: 'Search events' });
    for (const written of ['AABB.CCDD.EEFF', 'aa-bb-cc-dd-ee-ff']) {
      await page.evaluate((text) => navigator.clipboard.writeText(text), written);
      await line.press('ControlOrMeta+v');
      await page.locator('.chip', { hasText: 'mac:aa:bb:cc:dd:ee:ff' }).waitFor();
      await page.getByRole('button', { name: 'Remove mac:aa:bb:cc:dd:ee:ff' }).click();
    }
    await line.fill('-');
    await line.press('ControlOrMeta+v');
    await page.locator('.chip.excluded', { hasText: '-mac:aa:bb:cc:dd:ee:ff' }).waitFor();
    expect(await line.inputValue()).toBe('');
  });

  it('are searched in a month that is named', async () => {
    await openSearch(range);
    const month = new Date().toLocaleDateString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });
    await page.locator('.search .picker summary').click();
    await page.getByRole('link', { name: month, exact: true }).click();
    await page.waitForURL((address) => /-01T00:00:00.000Z$/.test(address.searchParams.get('since') ?? ''));
    expect(await page.locator('.search .picker summary').textContent()).toContain(month);
    expect(await page.locator('.months a').count()).toBe(12);
  });

  it('fill the page: at least 20 are above the fold at 1280 by 900, and nothing is cut off at any width', async () => {
    await openSearch(range);
    const bottoms = await rows().evaluateAll((all) => all.map((row) => row.getBoundingClientRect().bottom));
    expect(bottoms.filter((bottom) => bottom <= 900).length).toBeGreaterThanOrEqual(20);
    await page.locator('.facets li').first().waitFor();
    expect(await problemsOf(page, 'events-search')).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('tell the time and the sentence on a telephone, where the filters are behind one button', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await openSearch(`${range}&q=type:audit`);
    const login = rows().filter({ hasText: 'ann logged in' }).first();
    expect(await login.locator('time').isVisible()).toBe(true);
    expect(await login.getByText('ann logged in').isVisible()).toBe(true);
    const facet = page.getByRole('heading', { name: 'Type' });
    expect(await facet.isVisible()).toBe(false);
    await page.getByText('Filters', { exact: true }).click();
    await facet.waitFor();
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('open beside the list, and keys move on', async () => {
    await openSearch(`${range}&q=type:audit`);
    const drawer = page.getByRole('complementary', { name: 'Event' });
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await drawer.getByRole('heading', { name: 'ann logged in' }).waitFor();
    await drawer.getByText('Ann Berg').waitFor();
    expect(await problemsOf(page, 'events-drawer')).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.keyboard.press('k');
    await drawer.getByRole('heading', { name: 'bob logged out' }).waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('next row, previous row').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    expect(await page.locator('#search-line').evaluate((line) => line === document.activeElement)).toBe(true);
    await rows().nth(1).locator('.details').click();
    await drawer.getByRole('link', { name: 'Filter out ann' }).click();
    await page.waitForURL(/-user/);
    expect(await page.locator('.person a').first().textContent()).toBe('bob');
  });

  it('stay open in the address of the page', async () => {
    await openSearch(`${range}&q=type:audit`);
    const drawer = page.getByRole('complementary', { name: 'Event' });
    await rows().nth(1).locator('.details').click();
    await drawer.getByText('not sealed yet').waitFor();
    const said = await drawer.getByRole('heading', { level: 2 }).textContent();
    await page.goto('about:blank');
    await page.goBack();
    await drawer.getByRole('heading', { name: said ?? '' }).waitFor();
    await page.keyboard.press('ArrowUp');
    await drawer.getByRole('heading', { name: 'bob logged out' }).waitFor();
    await page.keyboard.press('Escape');
    expect(new URL(page.url()).hash).toBe('');
  });

  it('are shown with the columns that were chosen, in their order, from then on', async () => {
    await openSearch(`${range}&q=type:authentication`);
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'Access point' }).check();
    await page.getByRole('checkbox', { name: 'Details' }).uncheck();
    await page.getByRole('button', { name: 'Move Access point to the left' }).click();
    expect(await problemsOf(page, 'events-columns')).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.locator('th.ap').waitFor();
    await openSearch(range);
    const headings = await page.locator('.events th').allTextContents();
    expect(headings.slice(1)).toEqual(['What happened', 'Who', 'Access point', 'Source']);
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('button', { name: 'Usual columns' }).click();
    await page.locator('th.details').waitFor();
  });

  it('are saved as a search by the keyboard alone, opened by name, and deleted', async () => {
    await openSearch(`${range}&q=outcome:failure`);
    const menu = page.getByText('Saved searches', { exact: true });
    await menu.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Failed logins');
    expect(await problemsOf(page, 'events-saved')).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.keyboard.press('Enter');
    await page.getByText('The search is saved.').waitFor();
    await openSearch(range);
    await menu.click();
    await page.getByRole('link', { name: 'Failed logins' }).click();
    await page.waitForURL(/outcome/);
    expect(new URL(page.url()).searchParams.get('since')).toBe(RANGE.since);
    await page.waitForSelector('[data-histogram][data-ready]');
    await menu.click();
    await page.getByRole('button', { name: 'Delete Failed logins' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete Failed logins' }).click();
    await page.getByText('The search “Failed logins” is deleted.').waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'Failed logins' }).count()).toBe(0);
  });

  it('are searched, narrowed by a facet, opened and exported by the keyboard alone', async () => {
    /** Presses Tab until something with this text has the focus. */
    const tabTo = async (text: string) => {
      const reached = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');
      for (let step = 0; !(await reached()).startsWith(text); step += 1) {
        expect(step, `Tab does not reach "${text}"`).toBeLessThan(100);
        await page.keyboard.press('Tab');
      }
    };
    await openSearch(range);
    await page.keyboard.press('/');
    await page.keyboard.type('type:audit');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=type/);
    await page.waitForSelector('[data-histogram][data-ready]');
    await page.locator('.facets li', { hasText: 'bob' }).waitFor();
    await tabTo('bob');
    await page.keyboard.press('Enter');
    await page.waitForURL(/user/);
    await page.waitForSelector('[data-histogram][data-ready]');
    const downloading = page.waitForEvent('download');
    await tabTo('NDJSON');
    await page.keyboard.press('Enter');
    const file = await readFile(await (await downloading).path(), 'utf8');
    expect(file.trimEnd().split('\n')).toHaveLength(60);
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    const drawer = page.getByRole('complementary', { name: 'Event' });
    await drawer.getByRole('heading', { name: 'bob logged out' }).waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  });

  it('are found elsewhere by a command, by SQL and by a rule, which are copied', async () => {
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await openSearch(`${range}&q=user:ann`);
    await page.getByText('Use elsewhere', { exact: true }).click();
    expect(await problemsOf(page, 'events-elsewhere')).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
    const copied = async (title: string) => {
      await page.getByRole('button', { name: `Copy: ${title}` }).click();
      await page.getByText('Copied.').first().waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    expect(await copied('On the command line')).toBe(
      `xiq-sink events search --since ${RANGE.since} --until ${RANGE.until} -- 'user:ann'`,
    );
    const { rows: found } = await readOnlyQuery(test.readerUrl, await copied('As SQL'));
    expect(found.length).toBeGreaterThan(0);
  });

  it('that are new are announced, and the list stays until they are asked for', async () => {
    await page.clock.install();
    await openSearch('since=1h');
    const before = await rows().count();
    const store = createBatchStore(test.db, pino({ level: 'silent' }), new AbortController().signal);
    await store({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ timeStamp: Date.now() })])] });
    await page.clock.runFor(10_000);
    const news = page.getByRole('button', { name: '1 new' });
    await news.waitFor();
    expect(await rows().count()).toBe(before);
    await news.click();
    await expect.poll(() => rows().count()).toBe(before + 1);
    await page.clock.resume();
  });

  it('are listed oldest first on request', async () => {
    await openSearch(range);
    await page.getByTitle('Show oldest first').click();
    await page.waitForURL(/order=oldest/);
    expect(await rows().first().locator('time').getAttribute('datetime')).toBe(RANGE.since);
  });

  it('are narrowed by dragging over the bars', async () => {
    await openSearch(range);
    const { x, y, width } = (await page.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0 };
    await page.mouse.move(x + width * 0.26, y + 40);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.35, y + 50);
    await page.mouse.move(x + width * 0.49, y + 40);
    const moved = page.waitForURL((address) => address.searchParams.get('since') !== RANGE.since);
    await page.mouse.up();
    await moved;
    const { since, until } = await expectRowsInRange();
    // A quarter and a half of four hours from eight on, to the bar.
    expect(since.slice(0, 15)).toBe('2026-01-20T09:0');
    expect(['2026-01-20T09:5', '2026-01-20T10:0']).toContain(until.slice(0, 15));
    await page.waitForSelector('[data-histogram][data-ready]');
    const back = page.waitForURL((address) => address.searchParams.get('since') === RANGE.since);
    await page.locator('.u-over').dblclick();
    await back;
  });

  it('show the chosen range as a band while it is dragged, and cross-hairs at the pointer', async () => {
    await openSearch(range);
    const { x, y, width } = (await page.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0 };
    await page.mouse.move(x + width * 0.25, y + 40);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.5, y + 40);
    const bandAt = async () => {
      const band = await page.locator('.u-select').boundingBox();
      return ((band?.x ?? 0) + (band?.width ?? 0) - x) / width;
    };
    await expect.poll(bandAt).toBeGreaterThan(0.48);
    expect(await bandAt()).toBeLessThan(0.55);
    expect(await page.locator('.u-cursor-x').isVisible()).toBe(true);
    // Back to where it began: a click chooses nothing.
    await page.mouse.move(x + width * 0.25, y + 40);
    await page.mouse.up();
  });

  it('are counted by family under the pointer', async () => {
    await openSearch(range);
    const { x, y, width } = (await page.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0 };
    await page.mouse.move(x + width * 0.3, y + 20);
    const tip = page.locator('.tip');
    await tip.waitFor();
    expect(await tip.textContent()).toMatch(/^2026-01-20 09:\d\d:00 – 2026-01-20 09:\d\d:00 UTC: audit \d+$/);
  });

  it('are narrowed by dragging with a finger', async () => {
    await openSearch(range);
    const { x, y, width } = (await page.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0 };
    const session = await browser.context.newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove', part: number) =>
      session.send('Input.dispatchTouchEvent', { type, touchPoints: [{ x: x + width * part, y: y + 40 }] });
    const moved = page.waitForURL((address) => address.searchParams.get('since') !== RANGE.since);
    await touch('touchStart', 0.26);
    await touch('touchMove', 0.35);
    await touch('touchMove', 0.49);
    await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await moved;
    const { since } = await expectRowsInRange();
    expect(since.slice(0, 15)).toBe('2026-01-20T09:0');
  });

  it('are narrowed from the keyboard, and the times are said', async () => {
    await openSearch(range);
    const from = page.getByRole('slider', { name: 'From' });
    await from.focus();
    for (let step = 0; step < 12; step += 1) await page.keyboard.press('ArrowRight');
    const said = await from.getAttribute('aria-valuetext');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Tab');
    const moved = page.waitForURL((address) => address.searchParams.get('since') !== RANGE.since);
    await page.keyboard.press('Enter');
    await moved;
    const { since } = await expectRowsInRange();
    expect(since.slice(0, 19).replace('T', ' ')).toBe(said);
  });

  it('are said to be incomplete where they takes too long', async () => {
    const lock = new Client({ connectionString: test.adminUrl });
    await lock.connect();
    await page.route('**/events/histogram?*', async (route) => {
      await lock.query('begin; lock table audit_events');
      await route.continue();
    });
    await openSearch(range);
    await lock.end();
    await page.unrouteAll();
    expect(await page.locator('[data-histogram]').textContent()).toContain('takes too long');
  });

  it('lead to all that is known of one', async () => {
    await openSearch(`${range}&user=ann&type=AUTHENTICATION_LOG_ALL`);
    await rows().first().getByRole('link').first().click();
    await page.getByRole('link', { name: 'Page of this event' }).click();
    await page.waitForURL(/\/events\/[0-9a-f-]+\?at=/);
    expect(await page.locator('main').textContent()).toContain('"calling_station_id": "AA-BB-CC-DD-EE-FF"');
    expect(await problemsOf(page, 'event')).toEqual([]);
    // On a large screen, its parts use the whole page.
    await page.setViewportSize({ width: 1920, height: 900 });
    const ends = await page
      .locator('.event.page > :not(header)')
      .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().right));
    expect(Math.max(...ends)).toBeGreaterThan(1880);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('link', { name: `Timeline of ${ROAMING_CLIENT}` }).click();
    await page.waitForURL(/\/people\/client/);
    expect(await page.locator('h1').textContent()).toBe(`Client ${ROAMING_CLIENT}`);
  });

  it('are exported to a file on disk, with how far it is', async () => {
    await openSearch(`since=2025-05-01&until=2025-07-01`);
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'NDJSON' }).click();
    const download = await downloading;
    const file = await readFile(await download.path(), 'utf8');
    expect(file.trimEnd().split('\n')).toHaveLength(BULK);
    await page.getByText(`Exported ${BULK.toLocaleString('en')} events`).waitFor();
  });

  it('of a client are drawn on a map', async () => {
    await page.goto(`${admin.url}/people/client?mac=AABBCCDDEEFF&${range}`);
    const map = page.getByRole('img', { name: `Map of the positions of ${ROAMING_CLIENT}` });
    expect(await map.locator('circle.place').count()).toBe(10);
    expect(await map.getByText('ap-lobby').first().isVisible()).toBe(true);
    await page.getByText('Show as table').click();
    expect(
      await page.getByRole('region', { name: 'Positions of the client' }).locator('tbody tr').count(),
    ).toBe(10);
  });

  it('show no error in the browser, and ask nobody else', () => {
    expect(problems).toEqual([]);
  });
});
