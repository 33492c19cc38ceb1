import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startActions, storeDeliveries } from '../../support/actions.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { runsInBrowser, openBrowser, watchPage } from '../../support/browser.ts';
import type { OpenBrowser } from '../../support/browser.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';

describe.skipIf(!runsInBrowser())('live events in a browser (npm run test:console, needs Chromium)', () => {
  let test: TestDatabase;
  let admin: RunningAdmin;
  let browser: OpenBrowser;
  beforeAll(async () => {
    test = await createTestDatabase({ logs: true });
    admin = await startActions(test.db);
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await admin.close();
    await test.drop();
  });

  let page: Page;
  let problems: readonly string[];
  beforeEach(async () => {
    page = await browser.context.newPage();
    problems = watchPage(page, admin.url);
  });
  afterEach(async () => {
    await page.close();
    if (problems.length > 0) throw new Error(problems.join('\n'));
  });

  const audit = (description: string, userName = 'admin@example.com') =>
    storeDeliveries(test.db, queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ description, userName })]));

  async function listen(query = ''): Promise<void> {
    await page.goto(`${admin.url}/live${query}`);
    await page.getByText('Live since').first().waitFor();
  }

  const summaries = () => page.locator('tbody tr td:nth-child(6)').allTextContents();

  it('shows a new event within 3 s, newest first, with a link to it', async () => {
    await listen();
    await page.getByText('Waiting for events').waitFor();
    await audit('the first');
    await page.getByText('the first').waitFor({ timeout: 3_000 });
    await audit('the second');
    await page.getByText('the second').waitFor({ timeout: 3_000 });
    expect(await summaries()).toEqual(['the second', 'the first']);
    const href = await page.locator('tbody a').first().getAttribute('href');
    expect(href).toMatch(/^\/events\/[0-9a-f-]{36}\?at=20.*Z$/);
    await page.getByText('2 events.').first().waitFor();
  });

  it('shows only what meets the conditions of the form', async () => {
    await listen();
    await page.getByLabel('User').fill('eve@example.com');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL(/user=eve/);
    await page.getByText('Live since').first().waitFor();
    await audit('of somebody else');
    await audit('of eve', 'eve@example.com');
    await page.getByText('of eve').waitFor();
    expect(await summaries()).toEqual(['of eve']);
  });

  it('says since when it is paused, and since when it listens', async () => {
    await page.clock.install();
    await listen();
    const state = page.locator('[data-state]');
    const listening = /since (\S+),/.exec((await state.textContent()) ?? '')?.[1];
    await page.clock.fastForward(60_000);
    await page.getByRole('button', { name: 'Pause' }).click();
    await expect.poll(() => state.textContent()).toMatch(/^Paused since \S+,/);
    expect(await state.textContent()).not.toContain(String(listening));
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(() => state.textContent()).toContain(`Live since ${listening},`);
  });

  it('counts while paused what comes, and shows all of it when it goes on', async () => {
    await listen();
    await audit('before');
    // The note of the empty list has the same word.
    await page.locator('tbody').getByText('before').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    for (const one of ['one', 'two', 'three']) await audit(one);
    const resume = page.getByRole('button', { name: 'Resume (3 new)' });
    await resume.waitFor();
    expect(await summaries()).toEqual(['before']);
    await resume.click();
    await page.getByText('three').waitFor();
    expect(await summaries()).toEqual(['three', 'two', 'one', 'before']);
  });
});
