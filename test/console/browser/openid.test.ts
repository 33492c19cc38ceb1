import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Area } from '../../../src/console/area.ts';
import { html } from '../../../src/console/html/html.ts';
import { startAdmin } from '../../support/admin.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { openBrowser, runsInBrowser } from '../../support/browser.ts';
import type { OpenBrowser } from '../../support/browser.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { openIdConfig, startOpenIdProvider } from '../../support/openid-provider.ts';
import type { RunningProvider } from '../../support/openid-provider.ts';

const area: Area = {
  tag: 'test',
  navigation: [{ path: '/page', label: 'Page', icon: 'M2 2h12' }],
  pages: [
    {
      path: '/page',
      needs: 'view',
      data: 'by source',
      render: async ({ originalUrl }) => ({ title: 'Page', content: html`<p id="at">${originalUrl}</p>` }),
    },
  ],
  routes: [],
};

let database: TestDatabase;
let provider: RunningProvider;
let admin: RunningAdmin;
let browser: OpenBrowser;
let consoleUrl: string;

beforeAll(async () => {
  if (!runsInBrowser()) return;
  database = await createTestDatabase();
  const port = await freePort();
  // Another site than the provider's 127.0.0.1: the browser treats the callback as a navigation between sites.
  consoleUrl = `http://localhost:${port}`;
  provider = await startOpenIdProvider({
    redirectUri: `${consoleUrl}/login/openid/callback`,
    people: { ada: { preferred_username: 'ada', groups: ['netops'] } },
  });
  const openId = openIdConfig(provider, consoleUrl);
  admin = await startAdmin([area], database.db, {
    port,
    token: 'the-admin-token-0123456789',
    console: { db: database.db, areas: [area], openId },
  });
  browser = await openBrowser();
});
afterAll(async () => {
  if (!runsInBrowser()) return;
  await browser.close();
  await admin.close();
  await provider.close();
  await database.drop();
});

describe.skipIf(!runsInBrowser())('log-in by OpenID Connect (in Chromium)', () => {
  it('leads from the log-in page through the provider to the page, with the strict session cookie', async () => {
    const page = await browser.context.newPage();
    await page.goto(`${consoleUrl}/page?a=1`);
    expect(await page.title()).toContain('Log in');
    await page.getByRole('link', { name: `Log in with ${new URL(provider.issuer).host}` }).click();
    await page.locator('input[name=login]').fill('ada');
    await page.locator('input[name=password]').fill('x');
    await page.locator('button[type=submit]').click();
    await page.waitForURL(`${consoleUrl}/page?a=1`);
    expect(await page.locator('#at').textContent()).toBe('/page?a=1');
    expect(await page.textContent('body')).toContain('ada');
    const cookies = await browser.context.cookies(consoleUrl);
    expect(cookies.map(({ name, sameSite, httpOnly }) => ({ name, sameSite, httpOnly }))).toContainEqual({
      name: 'xiq_sink_session',
      sameSite: 'Strict',
      httpOnly: true,
    });
    expect(cookies.map(({ name }) => name)).not.toContain('xiq_sink_openid');
    // Back to the callback: its log-in has ended, and the session goes on.
    await page.goto(`${consoleUrl}/login/openid/callback?code=x&state=y`);
    expect(await page.getByRole('alert').textContent()).toContain('Start again');
    await page.goto(`${consoleUrl}/page`);
    expect(await page.locator('#at').count()).toBe(1);
  });
});
