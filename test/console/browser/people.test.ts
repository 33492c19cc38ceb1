import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventsArea } from '../../../src/console/events/events-area.ts';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { startAdmin } from '../../support/admin.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { openBrowser, runsInBrowser, watchPage } from '../../support/browser.ts';
import type { OpenBrowser } from '../../support/browser.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { DINAS_CLIENT, LOBBY, seedPeople } from '../seeded-people.ts';

describe.skipIf(!runsInBrowser())(
  'people and devices in a browser (npm run test:console, needs Chromium)',
  () => {
    let test: TestDatabase;
    let admin: RunningAdmin;
    let browser: OpenBrowser;
    let page: Page;
    let problems: readonly string[];

    beforeAll(async () => {
      test = await createTestDatabase();
      const { db } = test;
      await seedPeople(db);
      admin = await startAdmin([eventsArea({ db, isFiltered: () => false }), peopleArea({ db })], db);
      browser = await openBrowser({ viewport: { width: 1280, height: 900 } });
      page = await browser.context.newPage();
      problems = watchPage(page, admin.url);
    });
    afterAll(async () => {
      await browser.close();
      await admin.close();
      await test.drop();
    });

    const rows = () => page.locator('table.directory tbody tr');

    it('are found as one types, by the keyboard alone, and the address follows', async () => {
      await page.goto(`${admin.url}/people`);
      expect(await rows().count()).toBe(50);
      await page.getByRole('textbox', { name: 'Name' }).focus();
      await page.keyboard.type('HAN');
      await page.waitForURL(/\/people\?q=HAN$/);
      expect(await rows().count()).toBe(1);
      const typed = await page.locator('[data-directory]').textContent();
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/people\?q=HAN/);
      // The server draws the same.
      expect(await page.locator('[data-directory]').textContent()).toBe(typed);
      await page.getByRole('link', { name: 'Hana.Ito@example.com' }).focus();
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/people\/user\?name=Hana\.Ito%40example\.com/);
    });

    it('are sorted by name, and a number leads to as many events', async () => {
      await page.goto(`${admin.url}/people`);
      await page.getByRole('link', { name: 'Name' }).click();
      await page.waitForURL(/order=name/);
      expect(await rows().first().getByRole('link').first().textContent()).toContain('dina');
      await page.getByRole('textbox', { name: 'Name' }).fill('hana');
      await page.waitForURL(/q=hana/);
      const keys = page.getByRole('row', { name: /Hana/ }).locator('[data-label=Keys] a');
      expect(await keys.textContent()).toBe('2');
      await keys.click();
      await page.waitForSelector('[data-histogram][data-ready]');
      expect(await page.locator('table.events tbody tr').count()).toBe(2);
    });

    it('are devices by host name and by MAC address in any notation', async () => {
      await page.goto(`${admin.url}/devices`);
      const field = page.getByRole('textbox', { name: 'MAC address or host name' });
      await field.fill('ap-lo');
      await page.waitForURL(/q=ap-lo/);
      expect(await rows().count()).toBe(1);
      await field.fill('0200.5E10');
      await page.waitForURL(/q=0200/);
      expect(await rows().first().textContent()).toContain(DINAS_CLIENT);
      await field.fill('zz');
      await page.getByText('No devices whose MAC address or host name begins with').waitFor();
    });

    it.each([
      ['people', '/people'],
      ['devices', '/devices'],
      ['administrator', '/people/user?name=hana.ito@example.com'],
      ['user', '/people/user?name=dina'],
      ['client', `/people/client?mac=${DINAS_CLIENT}&since=24h`],
      ['access-point', `/devices/access-point?mac=${LOBBY}`],
    ])('have accessible pages at every width: %s', async (name, path) => {
      await page.goto(`${admin.url}${path}`);
      expect(await problemsOf(page, `people-${name}`)).toEqual([]);
      expect(problems).toEqual([]);
    });

    it('opens a burst by the keyboard', async () => {
      await page.goto(`${admin.url}/people/user?name=dina`);
      const burst = page.locator('details.burst').first();
      expect(await burst.locator('summary').textContent()).toContain('12 times');
      await burst.locator('summary').focus();
      await page.keyboard.press('Enter');
      expect(await burst.locator('li').count()).toBe(12);
    });
  },
);
