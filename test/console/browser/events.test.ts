import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import type { Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { storeAudits } from '../../support/actions.ts';
import { hasChromium } from '../../support/browser.ts';
import { saveInventory } from '../../../src/store/reconcile/inventory.ts';
import { readOnlyQuery } from '../../../src/store/server/read-only-query.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { RANGE, ROAMING_CLIENT, seedEvents } from '../seeded-events.ts';
import { useConsole } from '../../support/use-console.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { eventsForTests } from '../../support/events-area.ts';

const range = `since=${RANGE.since}&until=${RANGE.until}`;

describe.skipIf(!hasChromium())('events in a browser (needs Chromium)', () => {
  const admin = useConsole((db) => [eventsForTests(db), peopleArea({ db })], {
    seed: async (db) => {
      await seedEvents(db);
      const ann = { person_id: '1', user_name: 'ann', name: 'Ann Berg', role: 'Operator' };
      await saveInventory(db, 'people', 'default', [ann], new Date('2026-01-01'));
    },
  });
  const browser = useBrowser(() => admin.url, { hasTouch: true });

  const rows = () => browser.page.locator('tbody tr:not(.day)');

  /** Opens an address of the console, and waits for what its modules draw. */
  async function openSearch(query: string): Promise<void> {
    await browser.page.goto(`${admin.url}/events?${query}`);
    await browser.page.waitForSelector('[data-histogram][data-ready]');
  }

  /** The range that the address asks for; the times of the rows lie in it, and there are some. */
  async function expectRowsInRange(): Promise<{ since: string; until: string }> {
    const query = new URL(browser.page.url()).searchParams;
    const since = query.get('since') ?? '';
    const until = query.get('until') ?? '';
    const times = await rows()
      .locator('time')
      .evaluateAll((all) => all.map((time) => time.getAttribute('datetime') ?? ''));
    expect(times.length).toBeGreaterThan(0);
    expect(times.every((time) => time >= since && time < until)).toBe(true);
    return { since, until };
  }

  it('begin 190 pixels from the top of the page, below one line of controls', async () => {
    await openSearch(range);
    expect((await rows().first().boundingBox())?.y).toBeLessThanOrEqual(190);
    const ends = await browser.page
      .locator('.tools :is(.legend > :last-child, .controls)')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
    expect(ends).toEqual(ends.toSorted((a, b) => a - b));
  });

  it('are searched by a line of terms, which the address contains', async () => {
    await openSearch(range);
    const line = browser.page.getByRole('combobox', { name: 'Search events' });
    await line.fill('user:AN*');
    await line.press('Enter');
    await browser.page.waitForURL(/q=user/);
    await line.fill('"change 10"');
    await line.press('Enter');
    await browser.page.waitForURL(/change/);
    expect(await browser.page.locator('.chip').count()).toBe(2);
    // 10, and 100 to 108; those of ann are even.
    expect(await rows().count()).toBe(6);
    const again = await browser.context.newPage();
    await again.goto(browser.page.url());
    expect(await again.locator('tbody').textContent()).toBe(
      await browser.page.locator('tbody').textContent(),
    );
    await again.close();
    await browser.page.getByRole('link', { name: 'Remove user:AN*' }).click();
    await browser.page.waitForURL((address) => !address.href.includes('AN*'));
    expect(await rows().count()).toBe(11);
    await line.press('Backspace');
    expect(await line.inputValue()).toBe('"change 10"');
  });

  it('are counted by person, included by a click and excluded by Alt and a click', async () => {
    await openSearch(`${range}&q=type:audit`);
    const bob = browser.page.locator('.facets li', { hasText: 'bob' });
    expect(await bob.textContent()).toBe('bob60');
    await bob.getByRole('link').click();
    await browser.page.waitForURL(/user/);
    expect(await browser.page.locator('.person > span').allTextContents()).toEqual(
      Array.from({ length: 50 }, () => 'bob'),
    );
    await openSearch(`${range}&q=type:audit`);
    await bob.getByRole('link').click({ modifiers: ['Alt'] });
    await browser.page.waitForURL(/-user/);
    expect(await browser.page.locator('.person > span').first().textContent()).toBe('ann');
  });

  it('are listed while a facet is still counted; all of its values are searched by their beginning', async () => {
    const timeStamp = Date.parse('2026-02-01T12:00Z');
    const guests = Array.from({ length: 25 }, (_, n) => ({ timeStamp, userName: `guest-${n}` }));
    await storeAudits(admin.db, ...guests);
    const held = Promise.withResolvers<undefined>();
    await browser.page.route('**/events/facets?*facet=user*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await openSearch('since=2026-02-01T00:00:00.000Z&until=2026-02-02T00:00:00.000Z');
    expect(await rows().count()).toBe(25);
    await browser.page.locator('.facets h2', { hasText: 'Source' }).waitFor();
    held.resolve(undefined);
    await browser.page.unrouteAll({ behavior: 'wait' });
    const guest = browser.page.locator('.facets li', { hasText: 'guest-' });
    await guest.first().waitFor();
    expect(await guest.count()).toBe(10);
    await browser.page.getByRole('button', { name: 'more' }).click();
    await expect.poll(() => guest.count()).toBe(25);
    await browser.page.getByLabel('Search Person').fill('GUEST-2');
    await expect.poll(() => guest.count()).toBe(6);
    expect(await problemsOf(browser.page, 'events-facet')).toEqual([]);
    await browser.page.getByRole('button', { name: 'less' }).click();
    await expect.poll(() => guest.count()).toBe(10);
  });

  it('are compared with the period before, in the chart and by the values of each field', async () => {
    const audits = (day: string, ...users: readonly string[]) =>
      users.map((userName) => ({ timeStamp: Date.parse(`${day}T12:00Z`), userName }));
    await storeAudits(
      admin.db,
      ...audits('2026-03-01', 'ann', 'ann', 'ann', 'ann', 'bob'),
      ...audits('2026-03-02', 'ann', 'bob', 'bob', 'newcomer'),
    );
    await openSearch('since=2026-03-02T00:00:00.000Z&until=2026-03-03T00:00:00.000Z');
    expect(await browser.page.getByText('(outline)').count()).toBe(0);
    const ranges = browser.page.locator('.search .picker > summary');
    await ranges.click();
    await browser.page.getByRole('switch', { name: 'Compare' }).click();
    await browser.page.waitForURL(/compare=on/);
    await browser.page.getByText('before: 5 (outline)').waitFor();
    const people = browser.page.locator('.facets li', { hasText: /^(ann|bob|newcomer)/ });
    await expect.poll(() => people.allTextContents()).toEqual(['bob+100 % 2', 'ann−75 % 1', 'newcomernew 1']);
    expect(await problemsOf(browser.page, 'events-compared')).toEqual([]);
    await browser.page.locator('.plot').focus();
    const told = browser.page.getByText('audit 4; before: 5');
    for (let bar = 0; bar < 120 && (await told.count()) === 0; bar += 1) {
      await browser.page.keyboard.press('ArrowLeft');
    }
    expect(await told.count()).toBe(1);
    await ranges.click();
    await browser.page.getByRole('switch', { name: 'Compare', checked: true }).click();
    await browser.page.waitForURL((address) => !address.searchParams.has('compare'));
  });

  it('are suggested with their counts after two letters, and chosen by keys', async () => {
    await openSearch(range);
    const line = browser.page.getByRole('combobox', { name: 'Search events' });
    const suggestions = browser.page.locator('#suggestions').getByRole('option');
    await line.pressSequentially('-user:b');
    await suggestions.getByText('-user:bob').waitFor();
    expect(await suggestions.allTextContents()).toEqual(['-user:bob60']);
    expect(await problemsOf(browser.page, 'events-suggestions')).toEqual([]);
    await line.press('ArrowDown');
    await line.press('Enter');
    expect(await browser.page.locator('.chip.excluded').textContent()).toContain('-user:bob');
    await line.pressSequentially('an');
    await suggestions.getByText('user:ann').click();
    await line.press('Backspace');
    expect(await line.inputValue()).toBe('user:ann');
    await line.press('Enter');
    await browser.page.waitForURL(/-user.*user/);
    expect(await browser.page.locator('.chip').count()).toBe(2);
  });

  it('are found by a MAC address of any notation, which becomes a chip as it is pasted', async () => {
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await openSearch(range);
    const line = browser.page.getByRole('combobox', { name: 'Search events' });
    for (const written of ['AABB.CCDD.EEFF', 'aa-bb-cc-dd-ee-ff']) {
      await browser.page.evaluate((text) => navigator.clipboard.writeText(text), written);
      await line.press('ControlOrMeta+v');
      await browser.page.locator('.chip', { hasText: 'mac:aa:bb:cc:dd:ee:ff' }).waitFor();
      await browser.page.getByRole('button', { name: 'Remove mac:aa:bb:cc:dd:ee:ff' }).click();
    }
    await line.fill('-');
    await line.press('ControlOrMeta+v');
    await browser.page.locator('.chip.excluded', { hasText: '-mac:aa:bb:cc:dd:ee:ff' }).waitFor();
    expect(await line.inputValue()).toBe('');
  });

  it('fill the page: at least 20 are above the fold at 1280 by 900, and nothing is cut off at any width', async () => {
    await openSearch(range);
    const bottoms = await rows().evaluateAll((all) => all.map((row) => row.getBoundingClientRect().bottom));
    expect(bottoms.filter((bottom) => bottom <= 900).length).toBeGreaterThanOrEqual(20);
    await browser.page.locator('.facets li').first().waitFor();
    expect(await problemsOf(browser.page, 'events-search')).toEqual([]);
  });

  it('tell the time and the sentence on a telephone, where the filters are behind one button', async () => {
    await browser.page.setViewportSize({ width: 390, height: 844 });
    await openSearch(`${range}&q=type:audit`);
    const login = rows().filter({ hasText: 'ann logged in' }).first();
    expect(await login.locator('time').isVisible()).toBe(true);
    expect(await login.getByText('ann logged in').isVisible()).toBe(true);
    const facet = browser.page.getByRole('heading', { name: 'Type' });
    expect(await facet.isVisible()).toBe(false);
    await browser.page.getByText('Filters', { exact: true }).click();
    await facet.waitFor();
    const live = browser.page.getByRole('switch', { name: 'Live' });
    expect(await live.isVisible()).toBe(false);
    await browser.page.getByText('Controls', { exact: true }).click();
    await live.waitFor();
    const small = await browser.page
      .locator('main :is(button, .button, summary, select, input:not([type=checkbox], [type=hidden]))')
      .evaluateAll((all) =>
        all
          .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 44)
          .map((one) => one.outerHTML.slice(0, 80)),
      );
    expect(small).toEqual([]);
    await browser.page.setViewportSize({ width: 1280, height: 900 });
  });

  it('open beside the list, and keys move on', async () => {
    await openSearch(`${range}&q=type:audit`);
    const drawer = browser.page.getByRole('complementary', { name: 'Event' });
    await browser.page.keyboard.press('j');
    await browser.page.keyboard.press('j');
    await browser.page.keyboard.press('Enter');
    await drawer.getByRole('heading', { name: 'ann logged in' }).waitFor();
    await drawer.getByText('Ann Berg').waitFor();
    expect(await problemsOf(browser.page, 'events-drawer')).toEqual([]);
    await browser.page.keyboard.press('k');
    await drawer.getByRole('heading', { name: 'bob logged out' }).waitFor();
    await browser.page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await browser.page.keyboard.press('?');
    await browser.page.getByRole('dialog').getByText('next row, previous row').waitFor();
    await browser.page.keyboard.press('Escape');
    await browser.page.keyboard.press('/');
    expect(
      await browser.page.locator('#search-line').evaluate((line) => line === document.activeElement),
    ).toBe(true);
    await rows().nth(1).locator('.details').click();
    await drawer.getByRole('link', { name: 'Filter out ann' }).click();
    await browser.page.waitForURL(/-user/);
    expect(await browser.page.locator('.person > span').first().textContent()).toBe('bob');
  });

  it('stay open in the address of the page', async () => {
    await openSearch(`${range}&q=type:audit`);
    const drawer = browser.page.getByRole('complementary', { name: 'Event' });
    await rows().nth(1).locator('.details').click();
    await drawer.getByText('not sealed yet').waitFor();
    const said = await drawer.getByRole('heading', { level: 2 }).textContent();
    await browser.page.goto('about:blank');
    await browser.page.goBack();
    await drawer.getByRole('heading', { name: said ?? '' }).waitFor();
    await browser.page.keyboard.press('ArrowUp');
    await drawer.getByRole('heading', { name: 'bob logged out' }).waitFor();
    await browser.page.keyboard.press('Escape');
    await expect.poll(() => new URL(browser.page.url()).hash).toBe('');
  });

  it('open by a click anywhere in their row, close by Back, and never move the list', async () => {
    await openSearch(`${range}&q=type:audit`);
    const drawer = browser.page.getByRole('complementary', { name: 'Event' });
    const address = browser.page.url();
    await browser.page.mouse.wheel(0, 300);
    await expect.poll(() => browser.page.evaluate(() => scrollY)).toBe(300);
    const tops = () => rows().evaluateAll((all) => all.map((row) => row.getBoundingClientRect().top));
    const before = await tops();
    await rows().nth(12).locator('.person').click();
    await drawer.getByRole('heading', { level: 2 }).waitFor();
    expect(await tops()).toEqual(before);
    await rows().nth(14).locator('.details').click();
    await browser.page.goBack();
    await drawer.waitFor({ state: 'detached' });
    expect([browser.page.url(), await tops()]).toEqual([address, before]);
    await rows().nth(1).hover();
    await rows().nth(1).getByRole('link', { name: 'Only' }).click();
    await browser.page.waitForURL(/user/);
  });

  it('are behind menus that Escape closes before the drawer, and so does a click elsewhere', async () => {
    await openSearch(`${range}&q=type:audit`);
    const drawer = browser.page.getByRole('complementary', { name: 'Event' });
    const opened = browser.page.locator('details.picker[open]');
    await rows().nth(1).locator('.details').click();
    await drawer.getByRole('heading', { level: 2 }).waitFor();
    await browser.page.getByText('Saved', { exact: true }).click();
    await browser.page.getByLabel('Name of this search').press('Escape');
    await expect.poll(() => opened.count()).toBe(0);
    expect(await browser.page.evaluate(() => document.activeElement?.textContent)).toBe('Saved');
    expect(await drawer.count()).toBe(1);
    await browser.page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await browser.page.getByText('Export', { exact: true }).click();
    await rows().nth(18).locator('time').hover();
    await browser.page.mouse.down();
    await expect.poll(() => opened.count()).toBe(0);
    await browser.page.mouse.up();
  });

  it('keep what a mistyped search found before, and offer what was probably meant', async () => {
    await openSearch(`${range}&q=user:bob`);
    const listed = await rows().allTextContents();
    const line = browser.page.getByRole('combobox', { name: 'Search events' });
    await line.fill('tipe:audit');
    await line.press('Enter');
    await browser.page.getByText('is not a key').waitFor();
    expect(await rows().allTextContents()).toEqual(listed);
    expect(await line.inputValue()).toBe('tipe:audit');
    expect(await problemsOf(browser.page, 'events-mistyped')).toEqual([]);
    await browser.page.getByRole('link', { name: 'Search type:audit instead' }).click();
    await browser.page.waitForURL(/type/);
    expect(await browser.page.locator('.chip').count()).toBe(2);
  });

  it('are shown with the columns that were chosen from then on', async () => {
    await openSearch(`${range}&q=type:authentication`);
    await browser.page.getByText('Columns', { exact: true }).click();
    await browser.page.getByRole('checkbox', { name: 'Access point' }).check();
    await browser.page.getByRole('checkbox', { name: 'Details' }).uncheck();
    expect(await problemsOf(browser.page, 'events-columns')).toEqual([]);
    await browser.page.getByRole('button', { name: 'Apply' }).click();
    await browser.page.locator('th.ap').waitFor();
    await openSearch(range);
    const headings = await browser.page.locator('.events th').allTextContents();
    expect(headings.slice(1, 3)).toEqual(['What happened', 'Who']);
    expect(headings[3]).toContain('Access point');
    await browser.page.getByText('Columns', { exact: true }).click();
    await browser.page.getByRole('checkbox', { name: 'Details' }).check();
    await browser.page.getByRole('button', { name: 'Apply' }).click();
    await browser.page.locator('th.details').waitFor();
  });

  it('are saved as a search by the keyboard alone, opened by name, and deleted', async () => {
    await openSearch(`${range}&q=outcome:failure`);
    const menu = browser.page.getByText('Saved', { exact: true });
    await menu.focus();
    await browser.page.keyboard.press('Enter');
    await browser.page.keyboard.press('Tab');
    await browser.page.keyboard.type('Failed logins');
    expect(await problemsOf(browser.page, 'events-saved')).toEqual([]);
    await browser.page.keyboard.press('Enter');
    await browser.page.getByText('The search was saved.').waitFor();
    await openSearch(range);
    await menu.click();
    await browser.page.getByRole('link', { name: 'Failed logins' }).click();
    await browser.page.waitForURL(/outcome/);
    expect(new URL(browser.page.url()).searchParams.get('since')).toBe(RANGE.since);
    await browser.page.waitForSelector('[data-histogram][data-ready]');
    await menu.click();
    await browser.page.getByRole('button', { name: 'Delete Failed logins' }).click();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Delete Failed logins' }).click();
    await browser.page.getByText('The search “Failed logins” was deleted.').waitFor();
    await expect.poll(() => browser.page.getByRole('link', { name: 'Failed logins' }).count()).toBe(0);
  });

  it('are searched, narrowed by a facet, opened and exported by the keyboard alone', async () => {
    /** Presses Tab until something with this text has the focus. */
    const tabTo = async (text: string) => {
      const reached = () => browser.page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');
      for (let step = 0; !(await reached()).startsWith(text); step += 1) {
        expect(step, `Tab does not reach "${text}"`).toBeLessThan(100);
        await browser.page.keyboard.press('Tab');
      }
    };
    await openSearch(range);
    await browser.page.keyboard.press('/');
    await browser.page.keyboard.type('type:audit');
    await browser.page.keyboard.press('Enter');
    await browser.page.waitForURL(/q=type/);
    await browser.page.waitForSelector('[data-histogram][data-ready]');
    await browser.page.locator('.facets li', { hasText: 'bob' }).waitFor();
    await tabTo('bob');
    await browser.page.keyboard.press('Enter');
    await browser.page.waitForURL(/user/);
    await browser.page.waitForSelector('[data-histogram][data-ready]');
    const downloading = browser.page.waitForEvent('download');
    await tabTo('Export');
    await browser.page.keyboard.press('Enter');
    await tabTo('NDJSON');
    await browser.page.keyboard.press('Enter');
    const file = await readFile(await (await downloading).path(), 'utf8');
    expect(file.trimEnd().split('\n')).toHaveLength(60);
    await browser.page.getByText('Exported 60 events').waitFor();
    // The menu closes first.
    await browser.page.keyboard.press('Escape');
    await browser.page.keyboard.press('j');
    await browser.page.keyboard.press('Enter');
    const drawer = browser.page.getByRole('complementary', { name: 'Event' });
    await drawer.getByRole('heading', { name: 'bob logged out' }).waitFor();
    await browser.page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  });

  it('are found elsewhere by a command, by SQL and by a rule, which are copied', async () => {
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await openSearch(`${range}&q=user:ann`);
    await browser.page.getByText('Export', { exact: true }).click();
    expect(await problemsOf(browser.page, 'events-elsewhere')).toEqual([]);
    const copied = async (title: string) => {
      await browser.page.getByRole('button', { name: `Copy: ${title}` }).click();
      await browser.page.getByText('Copied.').first().waitFor();
      return browser.page.evaluate(() => navigator.clipboard.readText());
    };
    expect(await copied('On the command line')).toBe(
      `xiq-sink events search --since ${RANGE.since} --until ${RANGE.until} -- 'user:ann'`,
    );
    const { rows: found } = await readOnlyQuery(admin.database.readerUrl, await copied('As SQL'));
    expect(found.length).toBeGreaterThan(0);
  });

  it('that are new are announced, and the list stays until they are asked for', async () => {
    await browser.page.clock.install();
    await openSearch('since=1h');
    const before = await rows().count();
    const line = () => browser.page.locator('.tools').boundingBox();
    const place = await line();
    await storeAudits(admin.db, { timeStamp: Date.now() });
    await browser.page.clock.runFor(10_000);
    const news = browser.page.getByRole('button', { name: '1 new' });
    await news.waitFor();
    expect(await rows().count()).toBe(before);
    expect(await line()).toEqual(place);
    await news.click();
    await expect.poll(() => rows().count()).toBe(before + 1);
    await browser.page.clock.resume();
  });

  describe('in the chart', () => {
    /** A point of the bars, at this part of their width. */
    async function pointAt(part: number) {
      const { x, y, width } = (await browser.page.locator('.u-over').boundingBox()) ?? {
        x: 0,
        y: 0,
        width: 0,
      };
      return { x: x + width * part, y: y + 40 };
    }
    const moveTo = async (part: number) => {
      const { x, y } = await pointAt(part);
      await browser.page.mouse.move(x, y);
    };
    const hasMoved = () =>
      browser.page.waitForURL((address) => address.searchParams.get('since') !== RANGE.since);

    it('are narrowed by dragging over the bars', async () => {
      await openSearch(range);
      await moveTo(0.26);
      await browser.page.mouse.down();
      await moveTo(0.49);
      const band = await browser.page.locator('.u-select').boundingBox();
      expect(band?.width).toBeGreaterThan(0);
      expect(await browser.page.locator('.u-cursor-x').isVisible()).toBe(true);
      const moved = hasMoved();
      await browser.page.mouse.up();
      await moved;
      const { since, until } = await expectRowsInRange();
      // A quarter and a half of four hours from eight on, to the bar.
      expect(since.slice(0, 15)).toBe('2026-01-20T09:0');
      expect(['2026-01-20T09:5', '2026-01-20T10:0']).toContain(until.slice(0, 15));
      await browser.page.waitForSelector('[data-histogram][data-ready]');
      const back = browser.page.waitForURL((address) => address.searchParams.get('since') === RANGE.since);
      await browser.page.locator('.u-over').dblclick();
      await back;
    });

    it('are told bar by bar and narrowed by the keyboard', async () => {
      await openSearch(range);
      const plot = browser.page.locator('.histogram .plot');
      await plot.focus();
      await plot.press('ArrowLeft');
      expect(await browser.page.locator('.tip').textContent()).toMatch(
        / – 2026-01-20 12:00:00 UTC: no events$/,
      );
      for (let bar = 0; bar < 3; bar += 1) await plot.press('Shift+ArrowLeft');
      const moved = hasMoved();
      await plot.press('Enter');
      await moved;
      const { searchParams } = new URL(browser.page.url());
      expect(searchParams.get('until')).toBe(RANGE.until);
      expect(searchParams.get('since')?.slice(0, 13)).toBe('2026-01-20T11');
      await browser.page.waitForSelector('[data-histogram][data-ready]');
      const back = browser.page.waitForURL((address) => address.searchParams.get('since') === RANGE.since);
      await plot.press('Backspace');
      await back;
    });

    it('are narrowed by dragging with a finger', async () => {
      await openSearch(range);
      const session = await browser.context.newCDPSession(browser.page);
      const touch = async (type: 'touchStart' | 'touchMove' | 'touchEnd', ...parts: number[]) =>
        session.send('Input.dispatchTouchEvent', {
          type,
          touchPoints: await Promise.all(parts.map(pointAt)),
        });
      const moved = hasMoved();
      await touch('touchStart', 0.26);
      await touch('touchMove', 0.35);
      await touch('touchMove', 0.49);
      await touch('touchEnd');
      await moved;
      const { since } = await expectRowsInRange();
      expect(since.slice(0, 15)).toBe('2026-01-20T09:0');
    });
  });

  it('are said to be incomplete where the count takes too long', async () => {
    const lock = new Client({ connectionString: admin.database.adminUrl });
    await lock.connect();
    await browser.page.route('**/events/histogram?*', async (route) => {
      await lock.query('begin; lock table audit_events');
      await route.continue();
    });
    await openSearch(range);
    await lock.end();
    await browser.page.unrouteAll();
    expect(await browser.page.locator('[data-histogram]').textContent()).toContain('takes too long');
  });

  it('are counted for longer on request where a facet takes too long', async () => {
    const lock = new Client({ connectionString: admin.database.adminUrl });
    await lock.connect();
    const lockOnce = async (route: Route) => {
      await lock.query('begin; lock table audit_events');
      await route.continue();
    };
    await browser.page.route('**/events/facets?*facet=user*', lockOnce, { times: 1 });
    await openSearch(`${range}&q=type:audit`);
    const button = browser.page.locator('.facets h2:has-text("Person") + p').getByRole('button');
    expect(await problemsOf(browser.page, 'events-facet-since')).toEqual([]);
    const request = browser.page.waitForRequest(/facet=user.*milliseconds|milliseconds.*facet=user/);
    await button.click();
    await request;
    await expect.poll(() => button.textContent()).toContain('Counting');
    await lock.end();
    const bob = browser.page.locator('.facets li', { hasText: 'bob' });
    await expect.poll(() => bob.textContent()).toBe('bob60');
    expect(await button.count()).toBe(0);
  });

  it('lead to all that is known of one', async () => {
    await openSearch(`${range}&user=ann&type=AUTHENTICATION_LOG_ALL`);
    await rows().first().getByRole('link').first().click();
    await browser.page.getByRole('link', { name: 'Page of this event' }).click();
    await browser.page.waitForURL(/\/events\/[0-9a-f-]+\?at=/);
    expect(await browser.page.locator('main').textContent()).toContain(
      '"calling_station_id": "AA-BB-CC-DD-EE-FF"',
    );
    expect(await problemsOf(browser.page, 'event')).toEqual([]);
    // On a large screen, its parts use the whole page.
    await browser.page.setViewportSize({ width: 1920, height: 900 });
    const ends = await browser.page
      .locator('.event > .panel')
      .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().right));
    expect(Math.max(...ends)).toBeGreaterThan(1880);
    await browser.page.setViewportSize({ width: 1280, height: 900 });
    await browser.page.getByRole('link', { name: `Timeline of ${ROAMING_CLIENT}` }).click();
    await browser.page.waitForURL(/\/devices\/client/);
    expect(await browser.page.locator('h1').textContent()).toBe(`Client ${ROAMING_CLIENT}`);
  });

  it('show no error in the browser, and ask nobody else', () => {
    expect(browser.problems).toEqual([]);
  });
});
