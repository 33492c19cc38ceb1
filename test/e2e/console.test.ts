import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, openBrowser, watchPage } from '../support/browser.ts';
import type { OpenBrowser } from '../support/browser.ts';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { problemsOf } from '../support/page-checks.ts';
import { SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import type { Program } from '../support/program.ts';

const TOKEN = 'admin-token-of-the-console-test';

/** The real program and a real browser: each step goes on where the one before it has stopped. */
describe.skipIf(!hasChromium())('the console (needs Chromium)', () => {
  let database: TestDatabase;
  let directory: string;
  let program: Program;
  let browser: OpenBrowser;
  let page: Page;
  let watched: readonly string[];

  beforeAll(async () => {
    database = await createTestDatabase();
    directory = await temporaryDirectory();
    program = await startProgram({
      DATABASE_URL: database.databaseUrl,
      DATA_DIR: directory,
      WEBHOOK_SECRET: SECRET,
      ADMIN_TOKEN: TOKEN,
      FORWARD_TO: `file://${path.join(directory, 'events.jsonl')}`,
    });
    browser = await openBrowser({ viewport: { width: 1280, height: 900 } });
    page = await browser.context.newPage();
    watched = watchPage(page, program.adminUrl);
    for (let i = 0; i < 30; i += 1)
      await deliver('AUDIT_LOG_ALL', auditRecord({ timeStamp: Date.now() - i * 60_000 }));
  });
  afterAll(async () => {
    await browser.close();
    await program.end('SIGTERM');
    await database.drop();
    await rm(directory, { recursive: true, force: true });
  });
  /** What is wrong with the page as it stands, and what any page so far has done that it should not. */
  async function problemsHere(name: string): Promise<string[]> {
    // Chromium itself says on the console of a page that a log-in was refused.
    const told = watched.filter((problem) => !problem.includes('status of 401 (Unauthorized)'));
    return [...told, ...(await problemsOf(page, name))];
  }

  async function deliver(messageType: string, ...records: readonly unknown[]): Promise<void> {
    const response = await fetch(`${program.url}/ingest/default/${messageType}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}` },
      body: JSON.stringify(records),
    });
    expect(response.status).toBe(200);
  }

  const open = (address: string) => page.goto(`${program.adminUrl}${address}`);

  async function logIn(token: string): Promise<void> {
    await page.getByLabel('Your name').fill('Ada');
    await page.getByLabel('Admin token').fill(token);
    await page.getByRole('button', { name: 'Log in' }).click();
  }

  it('asks for the token, and says when it is wrong', async () => {
    await open('/settings');
    expect(await problemsHere('log-in')).toEqual([]);
    await logIn('not-the-token-of-this-service');
    await page.getByRole('alert').getByText('That is not the admin token.').waitFor();
    expect(await problemsHere('log-in-wrong')).toEqual([]);
    await logIn(TOKEN);
    await page.waitForURL(`${program.adminUrl}/settings`);
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
  });

  it('every page of the navigation is in order, in light and dark, on a telephone and a large screen', async () => {
    const links = await page
      .locator('nav a')
      .evaluateAll((anchors) => anchors.map((anchor) => anchor.getAttribute('href') ?? ''));
    expect(links).toContain('/settings');
    for (const link of links) {
      await open(link);
      expect(await problemsHere(link === '/' ? 'overview' : link.slice(1))).toEqual([]);
    }
  });

  it('logs out', async () => {
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL(`${program.adminUrl}/login`);
    await open('/settings');
    expect(await page.getByRole('button', { name: 'Log in' }).count()).toBe(1);
  });
});
