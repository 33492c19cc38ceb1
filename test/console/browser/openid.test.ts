import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Area } from '../../../src/console/area.ts';
import { html } from '../../../src/console/html/html.ts';
import { ONE_PAGE, startAdmin, type RunningAdmin } from '../../support/admin.ts';
import { hasChromium } from '../../support/browser.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { useDatabase } from '../../support/use-database.ts';
import { freePort } from '../../support/free-port.ts';
import { openIdConfig, startOpenIdProvider, type RunningProvider } from '../../support/openid-provider.ts';

const area: Area = {
  ...ONE_PAGE,
  pages: ONE_PAGE.pages.map((page) => ({
    ...page,
    render: async ({ originalUrl }) => ({ title: 'Page', content: html`<p id="at">${originalUrl}</p>` }),
  })),
  routes: [],
};

describe.skipIf(!hasChromium())('log-in by OpenID Connect (in Chromium)', () => {
  // Another site than the provider's 127.0.0.1: the browser treats the callback as a navigation between sites.
  let consoleUrl: string;
  let provider: RunningProvider;
  let admin: RunningAdmin;
  const database = useDatabase();
  beforeAll(async () => {
    const port = await freePort();
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
  });
  afterAll(async () => {
    await admin.close();
    await provider.close();
  });
  const browser = useBrowser(() => consoleUrl);

  it('leads from the log-in page through the provider to the page, with the strict session cookie', async () => {
    const { page } = browser;
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
