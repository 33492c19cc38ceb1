import { describe, expect, it } from 'vitest';
import { operatorLogArea } from '../../../src/console/operator-log/operator-log-area.ts';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { hasChromium } from '../../support/browser.ts';
import { storeAudits } from '../../support/actions.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { countPeople } from '../seeded-people.ts';
import { useConsole } from '../../support/use-console.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { eventsForTests } from '../../support/events-area.ts';

describe.skipIf(!hasChromium())('the command palette (needs Chromium)', () => {
  const admin = useConsole((db) => [eventsForTests(db), peopleArea({ db }), operatorLogArea({ db })], {
    seed: async (db) => {
      await storeAudits(db, { timeStamp: Date.now() - 60_000, userName: 'Dina@example.com' });
      await countPeople(db);
    },
  });
  const browser = useBrowser(() => admin.url);

  const palette = () => browser.page.getByRole('dialog', { name: 'Go to' });

  async function openPalette(text: string) {
    await browser.page.goto(`${admin.url}/operator-log`);
    await browser.page.keyboard.press('Control+k');
    await palette().waitFor();
    await browser.page.keyboard.type(text);
  }

  it('leads to a page by the first letters of its name', async () => {
    await openPalette('peop');
    await browser.page.keyboard.press('Enter');
    await browser.page.waitForURL(/\/people$/);
    expect(await browser.page.getByRole('heading', { level: 1 }).textContent()).toBe('People');
  });

  it('finds a person, in whichever case, and passes axe', async () => {
    await openPalette('dina');
    const person = palette().getByRole('option', { name: /Dina@example\.com administrator/ });
    await person.waitFor();
    expect(await problemsOf(browser.page, 'palette')).toEqual([]);
    await browser.page.keyboard.press('ArrowDown');
    expect(await person.getAttribute('aria-selected')).toBe('true');
    await browser.page.keyboard.press('Enter');
    await browser.page.waitForURL(/\/people\/user\?name=Dina%40example\.com/);
  });

  it('finds a saved search by any part of its name', async () => {
    await admin.post('/saved-searches', { name: 'Failed logins', line: 'outcome:failure', since: '7d' });
    await openPalette('LOGINS');
    await palette()
      .getByRole('option', { name: /Failed logins saved search/ })
      .waitFor();
    await browser.page.keyboard.press('Enter');
    await browser.page.waitForURL(/\/events\?q=/);
    expect(new URL(browser.page.url()).search).toBe('?q=outcome%3Afailure&since=7d');
  });

  it.each([
    ['AABB.CCDD.EEFF', /\/devices\/client\?mac=AABB\.CCDD\.EEFF/],
    ['a "quoted" text', /\/events\?q=/],
  ])('leads from %j to its place', async (text, address) => {
    await openPalette(text);
    await browser.page.keyboard.press('Enter');
    await browser.page.waitForURL(address);
    expect(await browser.page.locator('.problem').count()).toBe(0);
  });

  it('closes with Escape, and types nothing into the page', async () => {
    await openPalette('x');
    await browser.page.keyboard.press('Escape');
    await palette().waitFor({ state: 'detached' });
    expect(new URL(browser.page.url()).pathname).toBe('/operator-log');
  });

  it('opens with / where there is no search line; ? lists the keys, but not while one types', async () => {
    await browser.page.goto(`${admin.url}/operator-log`);
    await browser.page.keyboard.press('/');
    await palette().waitFor();
    await browser.page.keyboard.type('?');
    expect(await browser.page.getByRole('dialog', { name: 'Keys' }).count()).toBe(0);
    await browser.page.goto(`${admin.url}/operator-log`);
    await browser.page.keyboard.press('?');
    await browser.page.getByRole('dialog', { name: 'Keys' }).waitFor();
    expect(browser.problems).toEqual([]);
  });
});
