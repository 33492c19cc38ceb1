import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonRoute } from '../../../src/console/api/route.ts';
import type { Area } from '../../../src/console/area.ts';
import { html } from '../../../src/console/html/html.ts';
import { startAdmin } from '../../support/admin.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { runsInBrowser, openBrowser } from '../../support/browser.ts';
import type { OpenBrowser } from '../../support/browser.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';

const TOKEN = 'the-admin-token-0123456789';

/** Text that an event may hold, as whoever caused the event chose it. */
const HOSTILE = [
  '<script>document.title = "taken"</script>',
  '"><img src=x onerror="document.title = \'taken\'">',
  "' autofocus onfocus='document.title = \"taken\"'",
  '</p></title></style></textarea><svg onload=document.title="taken">',
  '{{constructor.constructor("document.title = \'taken\'")()}}',
];

let changes = 0;

const area: Area = {
  tag: 'test',
  navigation: [{ path: '/page', label: 'Page', icon: 'M2 2h12' }],
  pages: [
    {
      path: '/page',
      needs: 'view',
      data: 'by source',
      render: async () => ({
        title: HOSTILE[0] ?? '',
        content: html`
          ${HOSTILE.map(
            (text) =>
              html`<p title=${text} class=${text}>${text}</p>
                <input value=${text} />`,
          )}
          <textarea>${HOSTILE[3]}</textarea>
          <a id="link" href="javascript:document.title = 'taken'">a link</a>
        `,
      }),
    },
  ],
  routes: [
    jsonRoute({
      route: 'POST /change',
      data: 'by source',
      summary: 'a change',
      needs: 'view',
      asks: z.object({}),
      answer: z.object({}),
      work: async () => {
        changes += 1;
        return {};
      },
    }),
  ],
};

/** A page of another site, which tries what such a page can. */
const otherSite = (admin: string) => `<!doctype html><title>other</title>
  <a id="link" href="${admin}/page?a=1">a link to a page</a>
  <form id="form" method="post" action="${admin}/api/v1/change" enctype="text/plain"><button>go</button></form>
  <iframe src="${admin}/page"></iframe>
  <script>
    for (const path of ['/api/v1/change', '/logout', '/login']) {
      fetch('${admin}' + path, { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' });
    }
  </script>`;

describe.skipIf(!runsInBrowser())(
  'log-in and hostile text in a browser (npm run test:console, needs Chromium)',
  () => {
    let database: TestDatabase;
    let admin: RunningAdmin;
    let browser: OpenBrowser;
    let page: Page;
    let other: Server;

    beforeAll(async () => {
      database = await createTestDatabase();
      admin = await startAdmin([area], database.db, { token: TOKEN });
      browser = await openBrowser();
      page = await browser.context.newPage();
      // To the browser, localhost and 127.0.0.1 are two sites.
      other = createServer(
        (_request, response) =>
          void response.setHeader('Content-Type', 'text/html').end(otherSite(admin.url)),
      );
      await new Promise<void>((resolve) => {
        other.listen(0, 'localhost', resolve);
      });
      await page.goto(`${admin.url}/page`);
      await page.fill('#token', TOKEN);
      await page.click('button');
      await page.waitForURL(`${admin.url}/page`);
    });
    afterAll(async () => {
      await browser.close();
      other.close();
      await admin.close();
      await database.drop();
    });

    it('text of events is shown as it is, and never becomes markup or runs', async () => {
      await page.goto(`${admin.url}/page`);
      for (const [index, text] of HOSTILE.entries()) {
        const paragraph = page.locator('main > p').nth(index);
        expect(await paragraph.textContent()).toBe(text);
        expect(await paragraph.getAttribute('title')).toBe(text);
        expect(await page.locator('main > input').nth(index).inputValue()).toBe(text);
      }
      expect(await page.locator('textarea').inputValue()).toBe(HOSTILE[3]);
      expect(await page.locator('main script, main img, main svg').count()).toBe(0);
      const refused = page.waitForEvent('console', (message) =>
        message.text().includes('Content Security Policy'),
      );
      await page.click('#link');
      await refused;
      expect(await page.title()).toBe(`${HOSTILE[0]} · xiq-sink`);
    });

    it('a page of another site changes nothing, frames nothing, and ends no session', async () => {
      const { port } = z.object({ port: z.number() }).parse(other.address());
      await page.goto(`http://localhost:${port}/`, { waitUntil: 'networkidle' });
      expect(page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
      await page.click('#form button');
      await page.waitForURL(`${admin.url}/api/v1/change`);
      expect(await page.textContent('body')).toContain('OTHER_SITE');
      expect(changes).toBe(0);
      await page.goto(`${admin.url}/page`);
      expect(await page.textContent('header')).toContain('admin token');
    });

    it('a link of another site leads to the page, without logging in again', async () => {
      const { port } = z.object({ port: z.number() }).parse(other.address());
      await page.goto(`http://localhost:${port}/`);
      await page.click('#link');
      await page.waitForURL(`${admin.url}/page?a=1`);
      expect(await page.textContent('header')).toContain('admin token');
      await browser.context.clearCookies();
      await page.goto(`http://localhost:${port}/`);
      await page.click('#link');
      await page.waitForURL(`${admin.url}/login?next=%2Fpage%3Fa%3D1`);
      await page.waitForSelector('head:not(:has(meta[http-equiv]))', { state: 'attached' });
      await page.fill('#token', 'x');
    });
  },
);
