import { describe, expect, it } from 'vitest';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { hasChromium } from '../../support/browser.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { DINAS_CLIENT, LOBBY, seedPeople } from '../seeded-people.ts';
import { useConsole } from '../../support/use-console.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { eventsForTests } from '../../support/events-area.ts';

describe.skipIf(!hasChromium())('people and devices in a browser (needs Chromium)', () => {
  const areas = (db: Db) => [eventsForTests(db), peopleArea({ db })];
  const admin = useConsole(areas, { seed: seedPeople });
  const browser = useBrowser(() => admin.url);

  const rows = () => browser.page.locator('table.directory tbody tr');

  it('are found as one types, by the keyboard alone, and the address follows', async () => {
    await browser.page.goto(`${admin.url}/people`);
    expect(await rows().count()).toBe(50);
    await browser.page.getByRole('textbox', { name: 'Name' }).focus();
    await browser.page.keyboard.type('HAN');
    await browser.page.waitForURL(/\/people\?q=HAN$/);
    expect(await rows().count()).toBe(1);
    const typed = await browser.page.locator('[data-directory]').textContent();
    await browser.page.keyboard.press('Enter');
    await browser.page.waitForURL(/\/people\?q=HAN/);
    // The server draws the same.
    expect(await browser.page.locator('[data-directory]').textContent()).toBe(typed);
    await browser.page.getByRole('link', { name: 'Hana.Ito@example.com' }).focus();
    await browser.page.keyboard.press('Enter');
    await browser.page.waitForURL(/\/people\/user\?name=Hana\.Ito%40example\.com/);
  });

  it('are sorted by name, and a number leads to as many events', async () => {
    await browser.page.goto(`${admin.url}/people`);
    await browser.page.getByRole('link', { name: 'Name' }).click();
    await browser.page.waitForURL(/order=name/);
    expect(await rows().first().getByRole('link').first().textContent()).toContain('dina');
    await browser.page.getByRole('textbox', { name: 'Name' }).fill('hana');
    await browser.page.waitForURL(/q=hana/);
    const keys = browser.page.getByRole('row', { name: /Hana/ }).locator('[data-label=Keys] a');
    expect(await keys.textContent()).toBe('2');
    await keys.click();
    await browser.page.waitForSelector('[data-histogram][data-ready]');
    expect(await browser.page.locator('table.events tbody tr:not(.day)').count()).toBe(2);
  });

  it.each([
    ['people', '/people'],
    ['devices', '/devices'],
    ['administrator', '/people/user?name=hana.ito@example.com'],
    ['user', '/people/user?name=dina'],
    ['client', `/devices/client?mac=${DINAS_CLIENT}&since=24h`],
    ['access-point', `/devices/access-point?mac=${LOBBY}`],
  ])('have accessible pages at every width: %s', async (name, path) => {
    await browser.page.goto(`${admin.url}${path}`);
    expect(await problemsOf(browser.page, `people-${name}`)).toEqual([]);
    expect(browser.problems).toEqual([]);
  });

  it('choose their range as events do', async () => {
    await browser.page.goto(`${admin.url}/people/user?name=dina`);
    await browser.page.locator('.picker > summary', { hasText: 'Last 7 days' }).click();
    expect(await problemsOf(browser.page, 'people-range')).toEqual([]);
    await browser.page.getByRole('link', { name: 'Last 24 hours' }).click();
    await browser.page.waitForURL(/name=dina&since=24h$/);
    const picker = browser.page.locator('.picker');
    expect(await picker.locator('summary').textContent()).toBe('Last 24 hours');
    await picker.locator('summary').click();
    await picker.getByLabel('From (UTC)').fill('soon');
    await picker.getByRole('button', { name: 'Show' }).click();
    await picker.getByText('must be a time such as').waitFor();
    expect(await picker.getByLabel('From (UTC)').inputValue()).toBe('soon');
    expect(await browser.page.getByRole('heading', { name: 'Seen in this range' }).count()).toBe(1);
  });

  it('opens a burst by the keyboard', async () => {
    await browser.page.goto(`${admin.url}/people/user?name=dina`);
    const burst = browser.page.locator('details.burst').first();
    expect(await burst.locator('summary').textContent()).toContain('12 times');
    await burst.locator('summary').focus();
    await browser.page.keyboard.press('Enter');
    expect(await burst.locator('li').count()).toBe(12);
  });
});
