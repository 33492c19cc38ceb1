import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventsArea } from '../../../src/console/events/events-area.ts';
import { startAdmin } from '../../support/admin.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { runsInBrowser, openBrowser, watchPage } from '../../support/browser.ts';
import type { OpenBrowser } from '../../support/browser.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { RANGE, seedEvents } from '../seeded-events.ts';

describe.skipIf(!runsInBrowser())('time zones in a browser (npm run test:console, needs Chromium)', () => {
  let test: TestDatabase;
  let admin: RunningAdmin;
  let browser: OpenBrowser;
  let page: Page;
  let problems: readonly string[];

  beforeAll(async () => {
    test = await createTestDatabase();
    await seedEvents(test.db);
    admin = await startAdmin([eventsArea({ db: test.db, isFiltered: () => false })], test.db);
    browser = await openBrowser({ viewport: { width: 1280, height: 900 }, timezoneId: 'Asia/Tokyo' });
    page = await browser.context.newPage();
    problems = watchPage(page, admin.url);
  });
  afterAll(async () => {
    await browser.close();
    await admin.close();
    await test.drop();
  });

  const address = () => `${admin.url}/events?since=${RANGE.since}&until=${RANGE.until}`;
  const heading = (zone: string) => page.getByRole('columnheader', { name: `Time (${zone})` });

  it('are the one of the browser at first, without anybody choosing', async () => {
    await page.goto(address());
    await heading('Tokyo').waitFor();
    await page.reload();
    expect(await heading('Tokyo').count()).toBe(1);
  });

  it('are chosen in the sidebar, and kept for every page', async () => {
    await page.goto(address());
    const choice = page.getByLabel('Time zone');
    await choice.selectOption('UTC');
    await heading('UTC').waitFor();
    await choice.focus();
    await choice.selectOption('America/St_Johns');
    await heading('St Johns').waitFor();
    await page.goto(`${admin.url}/events`);
    expect(await choice.inputValue()).toBe('America/St_Johns');
  });

  it('are what a person writes times in', async () => {
    await page.goto(address());
    await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
    await heading('Tokyo').waitFor();
    await page.locator('.search details.picker summary').click();
    await page.getByLabel('From (Tokyo)').fill('2026-03-01 09:00');
    await page.keyboard.press('Enter');
    await page.waitForURL(/since=2026-03-01T00%3A00%3A00\.000Z/);
    await page.locator('.search details.picker summary').click();
    expect(await page.getByLabel('From (Tokyo)').inputValue()).toBe('2026-03-01 09:00');
  });

  it('leave no message and ask no other host', () => {
    expect(problems).toEqual([]);
  });
});
