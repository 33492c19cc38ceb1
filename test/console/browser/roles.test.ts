import { describe, expect, it } from 'vitest';
import { addAccount } from '../../../src/store/access/accounts.ts';
import { hasChromium } from '../../support/browser.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { hashCheaply } from '../../support/accounts.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { areasOf, DESTINATION, namesOf, seedSource } from '../sources/two-sources.ts';
import { useConsole } from '../../support/use-console.ts';
import { useBrowser } from '../../support/use-browser.ts';

const PASSWORD = 'correct horse battery staple';

describe.skipIf(!hasChromium())('in a browser, a viewer', () => {
  const directory = useDirectory();
  const names = namesOf('amber', 'a');
  const admin = useConsole((db) => areasOf(db, directory, [names]), {
    token: 'the-admin-token-0123456789',
    seed: async (db) => {
      await seedSource(db, names);
      const passwordHash = hashCheaply(PASSWORD);
      await addAccount(db, { name: 'ada@example.com', role: 'viewer', password_hash: passwordHash });
    },
  });
  const browser = useBrowser(() => admin.url);

  it('logs in with name and password, and is told when they are wrong', async () => {
    await browser.page.goto(`${admin.url}/destinations/${DESTINATION}`);
    expect(await problemsOf(browser.page, 'log-in-account')).toEqual([]);
    await browser.page.getByText('Log in with the admin token').click();
    await browser.page.getByLabel('Admin token').waitFor();
    expect(await problemsOf(browser.page, 'log-in-both')).toEqual([]);
    await browser.page.getByLabel('Name').fill('ada@example.com');
    await browser.page.getByLabel('Password').fill('wrong');
    await browser.page.getByRole('button', { name: 'Log in' }).first().click();
    await browser.page.getByRole('alert').getByText('Wrong name, password or one-time code.').waitFor();
    expect(await browser.page.getByLabel('Name').inputValue()).toBe('ada@example.com');
    await browser.page.getByLabel('Password').fill(PASSWORD);
    await browser.page.getByRole('button', { name: 'Log in' }).first().click();
    await browser.page.waitForURL(`${admin.url}/destinations/${DESTINATION}`);
  });

  it('sees pages in order without what the role does not allow, and why a page is refused', async () => {
    for (const [path, name] of [
      [`/destinations/${DESTINATION}`, 'viewer-destination'],
      ['/quarantine', 'viewer-quarantine'],
      ['/subscriptions', 'viewer-subscriptions'],
    ] as const) {
      await browser.page.goto(`${admin.url}${path}`, { waitUntil: 'networkidle' });
      expect(await problemsOf(browser.page, name)).toEqual([]);
    }
    await browser.page.goto(`${admin.url}/settings`);
    await browser.page.getByRole('heading', { name: 'Access denied' }).waitFor();
    expect(await browser.page.textContent('main')).toContain('settings.read');
  });
});
