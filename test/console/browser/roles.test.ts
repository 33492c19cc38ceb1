import { rm } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../../src/console/access/passwords.ts';
import { addAccount } from '../../../src/store/accounts.ts';
import { startAdmin } from '../../support/admin.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { openBrowser, runsInBrowser } from '../../support/browser.ts';
import type { OpenBrowser } from '../../support/browser.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { temporaryDirectory } from '../../support/program.ts';
import { areasOf, DESTINATION, namesOf, seedSource } from '../sources/two-sources.ts';

const PASSWORD = 'correct horse battery staple';

describe.skipIf(!runsInBrowser())('in a browser, a viewer', () => {
  let database: TestDatabase;
  let directory: string;
  let admin: RunningAdmin;
  let browser: OpenBrowser;
  let page: Page;
  beforeAll(async () => {
    database = await createTestDatabase();
    directory = await temporaryDirectory();
    const names = namesOf('amber', 'a');
    await seedSource(database.db, names);
    await addAccount(database.db, {
      name: 'ada@example.com',
      role: 'viewer',
      passwordHash: await hashPassword(PASSWORD),
    });
    const areas = areasOf(database.db, directory, [names]);
    admin = await startAdmin(areas, database.db, { token: 'the-admin-token-0123456789' });
    browser = await openBrowser();
    page = await browser.context.newPage();
  });
  afterAll(async () => {
    await browser.close();
    await admin.close();
    await database.drop();
    await rm(directory, { recursive: true, force: true });
  });

  it('logs in with name and password, and is told when they are wrong', async () => {
    await page.goto(`${admin.url}/destinations/${DESTINATION}`);
    expect(await problemsOf(page, 'log-in-account')).toEqual([]);
    await page.getByText('Log in with the admin token').click();
    await page.getByLabel('Admin token').waitFor();
    expect(await problemsOf(page, 'log-in-both')).toEqual([]);
    await page.getByLabel('Name').fill('ada@example.com');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).first().click();
    await page.getByRole('alert').getByText('Wrong name, password or one-time code.').waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('ada@example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Log in' }).first().click();
    await page.waitForURL(`${admin.url}/destinations/${DESTINATION}`);
  });

  it('sees no button that the role does not allow, and no page that it refuses', async () => {
    for (const [path, name] of [
      [`/destinations/${DESTINATION}`, 'viewer-destination'],
      ['/quarantine', 'viewer-quarantine'],
      ['/subscriptions', 'viewer-subscriptions'],
    ] as const) {
      await page.goto(`${admin.url}${path}`, { waitUntil: 'networkidle' });
      const buttons = await page.locator('main button').allTextContents();
      expect(
        buttons.map((text) => text.trim()).filter((text) => !['Search', 'Refresh'].includes(text)),
      ).toEqual([]);
      expect(await problemsOf(page, name)).toEqual([]);
    }
    const links = await page.locator('#pages a').allTextContents();
    expect(links.map((text) => text.trim())).not.toContain('Settings');
    await page.goto(`${admin.url}/settings`);
    await page.getByRole('heading', { name: 'Access denied' }).waitFor();
    expect(await page.textContent('main')).toContain(
      'the role viewer does not have the permission settings.read',
    );
  });
});
