import { afterEach, describe, expect, it } from 'vitest';
import { createEventHub } from '../../../src/console/live/event-hub.ts';
import { liveArea } from '../../../src/console/live/live-area.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { hasChromium } from '../../support/browser.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { useConsole } from '../../support/use-console.ts';
import { useBrowser } from '../../support/use-browser.ts';

describe.skipIf(!hasChromium())('live events in a browser (needs Chromium)', () => {
  const hub = (db: Db) => createEventHub(db, { intervalMs: 50, maxWatchers: 50, batch: 5 });
  const admin = useConsole((db) => [liveArea({ db, hub: hub(db) })], { logs: true });
  const browser = useBrowser(() => admin.url);
  afterEach(async () => {
    if (browser.problems.length > 0) throw new Error(browser.problems.join('\n'));
    await browser.page.goto('about:blank');
  });

  const audit = (description: string, userName = 'admin@example.com') =>
    storeDeliveries(admin.db, queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ description, userName })]));

  async function listen(query = ''): Promise<void> {
    await browser.page.goto(`${admin.url}/live${query}`);
    await browser.page.getByText('Live since').first().waitFor();
  }

  const summaries = () => browser.page.locator('tbody tr td:nth-child(6)').allTextContents();

  it('shows a new event within 3 s, newest first, with a link to it', async () => {
    await listen();
    await browser.page.getByText('Waiting for events').waitFor();
    await audit('the first');
    await browser.page.getByText('the first').waitFor({ timeout: 3_000 });
    await audit('the second');
    await browser.page.getByText('the second').waitFor({ timeout: 3_000 });
    expect(await summaries()).toEqual(['the second', 'the first']);
    const href = await browser.page.locator('tbody a').first().getAttribute('href');
    expect(href).toMatch(/^\/events\/[0-9a-f-]{36}\?at=20.*Z$/);
    await browser.page.getByText('2 events.').first().waitFor();
  });

  it('shows only what meets the conditions of the form', async () => {
    await listen();
    await browser.page.getByLabel('User').fill('eve@example.com');
    await browser.page.getByRole('button', { name: 'Apply' }).click();
    await browser.page.waitForURL(/user=eve/);
    await browser.page.getByText('Live since').first().waitFor();
    await audit('of somebody else');
    await audit('of eve', 'eve@example.com');
    await browser.page.getByText('of eve').waitFor();
    expect(await summaries()).toEqual(['of eve']);
  });

  it('counts while paused what comes, and shows all of it when it goes on', async () => {
    await listen();
    await audit('before');
    // The note of the empty list has the same word.
    await browser.page.locator('tbody').getByText('before').waitFor();
    await browser.page.getByRole('button', { name: 'Pause' }).click();
    for (const one of ['one', 'two', 'three']) await audit(one);
    const resume = browser.page.getByRole('button', { name: 'Resume (3 new)' });
    await resume.waitFor();
    expect(await summaries()).toEqual(['before']);
    await resume.click();
    await browser.page.getByText('three').waitFor();
    expect(await summaries()).toEqual(['three', 'two', 'one', 'before']);
  });

  it('says since when it is paused, and since when it listens', async () => {
    await browser.page.clock.install();
    await listen();
    const state = browser.page.locator('[data-state]');
    const listening = /since (\S+),/.exec((await state.textContent()) ?? '')?.[1];
    await browser.page.clock.fastForward(60_000);
    await browser.page.getByRole('button', { name: 'Pause' }).click();
    await expect.poll(() => state.textContent()).toMatch(/^Paused since \S+,/);
    expect(await state.textContent()).not.toContain(String(listening));
    await browser.page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(() => state.textContent()).toContain(`Live since ${listening},`);
  });
});
