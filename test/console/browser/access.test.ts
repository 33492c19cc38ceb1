import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonRoute } from '../../../src/console/api/route.ts';
import type { Area } from '../../../src/console/area.ts';
import { html } from '../../../src/console/html/html.ts';
import { ONE_PAGE } from '../../support/admin.ts';
import { hasChromium } from '../../support/browser.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { useConsole } from '../../support/use-console.ts';

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
  ...ONE_PAGE,
  pages: ONE_PAGE.pages.map((page) => ({
    ...page,
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
  })),
  routes: [
    jsonRoute({
      route: 'POST /change',
      data: 'by source',
      summary: 'a change',
      needs: 'view',
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

describe.skipIf(!hasChromium())('log-in and hostile text in a browser (needs Chromium)', () => {
  const admin = useConsole(() => [area], { token: TOKEN });
  const browser = useBrowser(() => admin.url);
  // To the browser, localhost and 127.0.0.1 are two sites.
  const other = createServer(
    (_request, response) => void response.setHeader('Content-Type', 'text/html').end(otherSite(admin.url)),
  );
  let otherUrl = '';
  beforeAll(async () => {
    await once(other.listen(0, 'localhost'), 'listening');
    otherUrl = `http://localhost:${z.object({ port: z.number() }).parse(other.address()).port}/`;
    await browser.page.goto(`${admin.url}/page`);
    await browser.page.fill('#field-token', TOKEN);
    await browser.page.click('button');
    await browser.page.waitForURL(`${admin.url}/page`);
  });
  afterAll(() => other.close());

  it('text of events is shown as it is, and never becomes markup or runs', async () => {
    await browser.page.goto(`${admin.url}/page`);
    for (const [index, text] of HOSTILE.entries()) {
      const paragraph = browser.page.locator('main > p').nth(index);
      expect(await paragraph.textContent()).toBe(text);
      expect(await paragraph.getAttribute('title')).toBe(text);
      expect(await browser.page.locator('main > input').nth(index).inputValue()).toBe(text);
    }
    expect(await browser.page.locator('textarea').inputValue()).toBe(HOSTILE[3]);
    expect(await browser.page.locator('main script, main img, main svg:not(.opener svg)').count()).toBe(0);
    const refused = browser.page.waitForEvent('console', (message) =>
      message.text().includes('Content Security Policy'),
    );
    await browser.page.click('#link');
    await refused;
    expect(await browser.page.title()).toBe(`${HOSTILE[0]} · xiq-sink`);
  });

  it('a page of another site changes nothing, frames nothing, and ends no session', async () => {
    await browser.page.goto(otherUrl, { waitUntil: 'networkidle' });
    await expect.poll(() => browser.page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
    await browser.page.click('#form button');
    await browser.page.waitForURL(`${admin.url}/api/v1/change`);
    expect(await browser.page.textContent('body')).toContain('OTHER_SITE');
    expect(changes).toBe(0);
    await browser.page.goto(`${admin.url}/page`);
    expect(await browser.page.textContent('header')).toContain('admin token');
  });

  it('a link of another site leads to the page, without logging in again', async () => {
    await browser.page.goto(otherUrl);
    await browser.page.click('#link');
    await browser.page.waitForURL(`${admin.url}/page?a=1`);
    expect(await browser.page.textContent('header')).toContain('admin token');
    await browser.context.clearCookies();
    await browser.page.goto(otherUrl);
    await browser.page.click('#link');
    await browser.page.waitForURL(`${admin.url}/login?next=%2Fpage%3Fa%3D1`);
    await browser.page.waitForSelector('head:not(:has(meta[http-equiv]))', { state: 'attached' });
    await browser.page.fill('#field-token', 'x');
  });
});
