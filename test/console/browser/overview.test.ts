import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { Area } from '../../../src/console/area.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { deliverAndCount } from '../../support/arrivals.ts';
import { hasChromium, watchPage } from '../../support/browser.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { useConsole } from '../../support/use-console.ts';
import { overviewForTests } from '../overview/overview-for-tests.ts';

const MINUTE = 60_000;

describe.skipIf(!hasChromium())('the overview in a browser (needs Chromium)', () => {
  let isAway = false;

  /** The overview, whose page fails while `isAway`. */
  function areasOf(db: Db): readonly Area[] {
    const area = overviewForTests(db, { readiness: async () => ({ checks: [] }) });
    const pages = area.pages.map((page) => {
      const render: typeof page.render = (request, visitor) => {
        if (isAway) throw new Error('not now');
        return page.render(request, visitor);
      };
      return { ...page, render };
    });
    return [{ ...area, pages }];
  }

  async function seed(db: Db): Promise<void> {
    const types = ['AUDIT_LOG_ALL', 'SMS_LOG_ALL', 'LOCATION_AP_CENTRIC'] as const;
    const given = types.flatMap((messageType, index) =>
      [1, 5, 9, 13].map((hours) => {
        const receivedAt = new Date(Date.now() - hours * 60 * MINUTE);
        return { receivedAt, messageType, count: 10 + index * 10 };
      }),
    );
    await deliverAndCount(db, ...given);
  }

  const admin = useConsole(areasOf, { seed });
  const browser = useBrowser(() => admin.url);

  async function open(): Promise<{ page: Page; problems: readonly string[] }> {
    const page = await browser.context.newPage();
    const problems = watchPage(page, admin.url);
    await page.goto(admin.url);
    await page.locator('#arrivals-chart canvas').waitFor();
    return { page, problems };
  }

  test.each(['light', 'dark'] as const)('the chart is in the colours of the %s theme', async (theme) => {
    const { page, problems } = await open();
    await page.emulateMedia({ colorScheme: theme });
    await expect.poll(async () => coloursOf(page)).toMatchObject({ missing: [], shown: 3 });
    // No bar touches the top.
    expect((await coloursOf(page)).top).toBeGreaterThan(10);
    expect(problems).toEqual([]);
    await page.close();
  });

  test('all of it is above the fold at 1280 by 900, in cards and panels of one height', async () => {
    const { page } = await open();
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBe(900);
    for (const row of ['#service', '.activity']) {
      const boxes = await page
        .locator(`${row} > .panel`)
        .evaluateAll((all) =>
          all.map((one) => one.getBoundingClientRect()).map(({ y, height }) => ({ y, height })),
        );
      expect(boxes).toEqual(Array.from({ length: 4 }, () => boxes[0]));
    }
    expect((await page.locator('#service > .panel').first().boundingBox())?.height).toBe(104);
    await page.close();
  });

  test('numbers follow what arrives, and the focus stays; an error is told until it is over', async () => {
    const { page, problems } = await open();
    const link = page.locator('#service a').first();
    await link.focus();
    const value = page.locator('#arrivals .legend > span', { hasText: 'logs' }).locator('.value');
    expect(await value.textContent()).toBe('80');
    await deliverAndCount(admin.db, { receivedAt: new Date(), messageType: 'GDPR_LOG_ALL', count: 41 });
    await expect.poll(() => value.textContent(), { timeout: 12_000 }).toBe('121');
    await expect.poll(async () => (await coloursOf(page)).shown, { timeout: 12_000 }).toBe(3);
    expect(await link.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(problems).toEqual([]);

    isAway = true;
    const stale = page.locator('#stale');
    await expect.poll(() => stale.textContent(), { timeout: 12_000 }).toContain('Out of date');
    isAway = false;
    await expect.poll(() => stale.textContent(), { timeout: 12_000 }).toBe('');
    await page.close();
  });
});

/** How many families have their colour in the chart and from which line on, and which of the legend have none. */
async function coloursOf(page: Page): Promise<{ shown: number; missing: string[]; top: number }> {
  return page.evaluate(() => {
    const canvas = document.querySelector('#arrivals-chart canvas');
    if (!(canvas instanceof HTMLCanvasElement)) return { shown: 0, missing: ['canvas'], top: 0 };
    // Read from a copy: Chromium warns on the console of the page when its own canvas is read again and again.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
    copy?.drawImage(canvas, 0, 0);
    const data = copy?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    // The first line of the picture with each colour.
    const seen = new Map<string, number>();
    for (let at = 0; at < data.length; at += 4) {
      const colour = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
      if (data[at + 3] === 255 && !seen.has(colour)) seen.set(colour, Math.floor(at / 4 / canvas.width));
    }
    const families = [...document.querySelectorAll('#arrivals .legend > span:not(.dim)')];
    const states = families.map((one) => {
      const swatch = one.querySelector('.swatch');
      const colour = swatch === null ? '' : getComputedStyle(swatch).backgroundColor;
      const hasEvents = one.querySelector('.value')?.textContent !== '0';
      return { name: one.textContent ?? '', isSeen: seen.has(colour), top: seen.get(colour), hasEvents };
    });
    return {
      shown: states.filter(({ isSeen }) => isSeen).length,
      top: Math.min(...states.map(({ top = Number.POSITIVE_INFINITY }) => top)),
      missing: states.filter(({ isSeen, hasEvents }) => hasEvents && !isSeen).map(({ name }) => name),
    };
  });
}
