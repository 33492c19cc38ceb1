import { describe, expect, it } from 'vitest';
import { operatorLogArea } from '../../../src/console/operator-log/operator-log-area.ts';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { countAll } from '../../support/arrivals.ts';
import { hasChromium } from '../../support/browser.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { eventsForTests } from '../../support/events-area.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { useConsole } from '../../support/use-console.ts';
import { countPeople } from '../seeded-people.ts';

const SOURCES = Array.from({ length: 500 }, (_, index) => `customer-${String(index).padStart(3, '0')}`);

describe.skipIf(!hasChromium())('the choice of a source (needs Chromium)', () => {
  const admin = useConsole((db) => [eventsForTests(db), peopleArea({ db }), operatorLogArea({ db })], {
    seed: async (db) => {
      const timeStamp = Date.now() - 60_000;
      const deliveries = SOURCES.map((source) =>
        queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ timeStamp, userName: `ann of ${source}` })], {
          source,
        }),
      );
      await storeDeliveries(db, ...deliveries);
      await countAll(db);
      await countPeople(db);
    },
  });
  const browser = useBrowser(() => admin.url);
  const choice = () => browser.page.locator('.source-switch');
  const options = () => browser.page.getByRole('dialog', { name: 'Source' }).getByRole('option');

  it('is searched by any part of the name and made by the keyboard; other pages and Back keep it', async () => {
    const { page } = browser;
    await page.goto(`${admin.url}/people?order=name`);
    await choice().focus();
    await page.keyboard.press('Enter');
    expect(await options().count()).toBe(SOURCES.length + 1);
    expect(await options().first().textContent()).toContain('All sources');
    expect(await problemsOf(page, 'source-choice')).toEqual([]);
    await page.keyboard.type('ER-17');
    expect(await options().count()).toBe(10);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/people\?order=name&source=customer-171$/);
    await page.getByRole('link', { name: 'ann of customer-171' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(1);
    await page.locator('#pages').getByRole('link', { name: 'Events' }).click();
    await page.waitForURL(/\/events\?source=customer-171$/);
    await page.locator('.facets li', { hasText: 'ann of customer-171' }).waitFor();
    expect(await page.locator('.facets h2', { hasText: 'Source' }).count()).toBe(0);
    await page.getByRole('combobox', { name: 'Search events' }).fill('type:audit');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/events\?.*q=type/);
    expect(await page.locator('tbody tr').count()).toBe(1);
    await page.locator('#pages').getByRole('link', { name: 'Operator log' }).click();
    await page.waitForURL(/\/operator-log\?source=customer-171$/);
    await page.goBack();
    await choice().click();
    await page.keyboard.press('Enter');
    await page.waitForURL((address) => !address.href.includes('source='));
    expect(await choice().textContent()).toBe('All sources');
    await page.goBack();
    expect(await choice().textContent()).toBe('customer-171');
  });

  it('is made with Ctrl K on every page, and by a facet', async () => {
    const { page } = browser;
    await page.goto(`${admin.url}/events`);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('customer-042');
    await page.getByRole('option', { name: 'customer-042 source' }).click();
    await page.waitForURL(/\/events\?source=customer-042$/);
    await page.goto(`${admin.url}/events?q=type:audit`);
    await page
      .locator('.facets li', { hasText: /^customer-/ })
      .first()
      .getByRole('link')
      .click();
    await page.waitForURL(/source=customer-\d+/);
    expect(await page.locator('.chip').allTextContents()).toEqual([expect.stringContaining('type:audit')]);
  });

  it('fits into the top bar of every width, in light and dark, and moves nothing', async () => {
    const { page } = browser;
    for (const path of ['/people?source=customer-007', '/events?source=customer-007']) {
      for (const width of [390, 1280, 1920]) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(`${admin.url}${path}`, { waitUntil: 'networkidle' });
        const { x = 0, y = -1, width: own = width } = (await choice().boundingBox()) ?? {};
        expect({ path, width, isInBar: y >= 0 && y < 20 && x + own <= width }).toMatchObject({
          isInBar: true,
        });
        expect(await page.evaluate(sumOfShifts)).toBeLessThan(0.02);
      }
      expect(await problemsOf(page, `source-chosen-${path.slice(1, 4)}`)).toEqual([]);
    }
    expect(browser.problems).toEqual([]);
  });
});

/** The layout shifts of a page since it was loaded. Entries of before are handed over in a task of their own. */
const sumOfShifts = () =>
  new Promise<number>((resolve) => {
    let sum = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) sum += 'value' in entry ? Number(entry.value) : 0;
    }).observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => resolve(sum), 50);
  });
