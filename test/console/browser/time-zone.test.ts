import { describe, expect, it } from 'vitest';
import { hasChromium } from '../../support/browser.ts';
import { RANGE, seedEvents } from '../seeded-events.ts';
import { useConsole } from '../../support/use-console.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { eventsForTests } from '../../support/events-area.ts';

describe.skipIf(!hasChromium())('time zones in a browser (needs Chromium)', () => {
  const admin = useConsole((db) => [eventsForTests(db)], {
    seed: seedEvents,
  });
  const browser = useBrowser(() => admin.url, { timezoneId: 'Asia/Tokyo' });

  const address = () => `${admin.url}/events?since=${RANGE.since}&until=${RANGE.until}`;
  const heading = (zone: string) => browser.page.locator('.zone', { hasText: `${zone} time` });

  it('are the one of the browser at first, and one that is chosen is kept for every page', async () => {
    await browser.page.goto(address());
    await heading('Tokyo').waitFor();
    await browser.page.reload();
    expect(await heading('Tokyo').count()).toBe(1);
    const choice = browser.page.getByLabel('Time zone');
    await choice.selectOption('UTC');
    await heading('UTC').waitFor();
    await choice.focus();
    await choice.selectOption('America/St_Johns');
    await heading('St Johns').waitFor();
    await browser.page.goto(`${admin.url}/events`);
    expect(await choice.inputValue()).toBe('America/St_Johns');
    expect(browser.problems).toEqual([]);
  });
});
