import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { eventsArea } from '../../../src/console/events/events-area.ts';
import { hasChromium } from '../../support/browser.ts';
import { nothingKnown } from '../../support/trust.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { useConsole } from '../../support/use-console.ts';
import { RANGE, seedEvents } from '../seeded-events.ts';

const FIRST_VISIT_BYTES = 120_000;
const SECOND_VISIT_BYTES = 20_000;

describe.skipIf(!hasChromium())('the weight of the console in a browser (needs Chromium)', () => {
  const admin = useConsole((db) => [eventsArea({ db, trust: nothingKnown, isFiltered: () => false })], {
    seed: seedEvents,
  });
  const browser = useBrowser(() => admin.url);

  /** Opens the page with the most events; resolves with the bytes that came over the network until it was drawn. */
  async function visit(page: Page): Promise<number> {
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    let bytes = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.goto(`${admin.url}/events?since=${RANGE.since}&until=${RANGE.until}`);
    await page.waitForSelector('[data-histogram][data-ready]');
    await page.waitForLoadState('networkidle');
    return bytes;
  }

  test('the first visit takes less than 120 kB, and the second less than 20 kB', async () => {
    const first = await visit(browser.page);
    expect(await browser.page.locator('tbody tr').count()).toBe(50);
    const second = await visit(await browser.context.newPage());
    expect(first).toBeGreaterThan(SECOND_VISIT_BYTES);
    expect(first).toBeLessThan(FIRST_VISIT_BYTES);
    expect(second).toBeLessThan(SECOND_VISIT_BYTES);
    expect(browser.problems).toEqual([]);
  });
});
