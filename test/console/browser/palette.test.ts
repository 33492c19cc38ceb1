import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventsArea } from '../../../src/console/events/events-area.ts';
import { operatorLogArea } from '../../../src/console/operator-log/operator-log-area.ts';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { startAdmin } from '../../support/admin.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { runsInBrowser, openBrowser, watchPage } from '../../support/browser.ts';
import type { OpenBrowser } from '../../support/browser.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { storeEvents } from '../seeded-events.ts';
import { countPeople } from '../seeded-people.ts';

describe.skipIf(!runsInBrowser())('the command palette (npm run test:console, needs Chromium)', () => {
  let test: TestDatabase;
  let admin: RunningAdmin;
  let browser: OpenBrowser;
  let page: Page;
  let problems: readonly string[];

  beforeAll(async () => {
    test = await createTestDatabase();
    const record = auditRecord({ timeStamp: Date.now() - 60_000, userName: 'Dina@example.com' });
    await storeEvents(test.db, [queuedDelivery('AUDIT_LOG_ALL', [record])]);
    const { db } = test;
    await countPeople(db);
    admin = await startAdmin(
      [eventsArea({ db, isFiltered: () => false }), peopleArea({ db }), operatorLogArea({ db })],
      db,
    );
    browser = await openBrowser({ viewport: { width: 1280, height: 900 } });
    page = await browser.context.newPage();
    problems = watchPage(page, admin.url);
  });
  afterAll(async () => {
    await browser.close();
    await admin.close();
    await test.drop();
  });

  const palette = () => page.getByRole('dialog', { name: 'Go to' });

  async function openPalette(text: string) {
    await page.goto(`${admin.url}/operator-log`);
    await page.keyboard.press('Control+k');
    await palette().waitFor();
    await page.keyboard.type(text);
  }

  it('leads to a page by the first letters of its name', async () => {
    await openPalette('peop');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/people$/);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('People');
  });

  it('finds a person, in whichever case, and passes axe', async () => {
    await openPalette('dina');
    const person = palette().getByRole('option', { name: /Dina@example\.com administrator/ });
    await person.waitFor();
    expect(await problemsOf(page, 'palette')).toEqual([]);
    await page.keyboard.press('ArrowDown');
    expect(await person.getAttribute('aria-selected')).toBe('true');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/people\/user\?name=Dina%40example\.com/);
  });

  it('finds a saved search by any part of its name', async () => {
    await admin.post('/saved-searches', { name: 'Failed logins', line: 'outcome:failure', since: '7d' });
    await openPalette('LOGINS');
    await palette()
      .getByRole('option', { name: /Failed logins saved search/ })
      .waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/events\?q=/);
    expect(new URL(page.url()).search).toBe('?q=outcome%3Afailure&since=7d');
  });

  it.each([
    ['AABB.CCDD.EEFF', /\/people\/client\?mac=AABB\.CCDD\.EEFF/],
    ['a "quoted" text', /\/events\?q=/],
  ])('leads from %j to its place', async (text, address) => {
    await openPalette(text);
    await page.keyboard.press('Enter');
    await page.waitForURL(address);
    expect(await page.locator('.problem').count()).toBe(0);
  });

  it('closes with Escape, and types nothing into the page', async () => {
    await openPalette('x');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await palette().waitFor({ state: 'detached' });
    expect(new URL(page.url()).pathname).toBe('/operator-log');
  });

  it('opens with / where there is no search line; ? lists the keys, but not while one types', async () => {
    await page.goto(`${admin.url}/operator-log`);
    await page.keyboard.press('/');
    await palette().waitFor();
    await page.keyboard.type('?');
    expect(await page.getByRole('dialog', { name: 'Keys' }).count()).toBe(0);
    await page.goto(`${admin.url}/operator-log`);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    expect(problems).toEqual([]);
  });
});
