import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { chromium, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';

/** Debian's Chromium; another place is named by CHROMIUM. */
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Whether tests in a browser can run here. The name of each says that it needs Chromium where it is skipped. */
export const hasChromium = () => existsSync(CHROMIUM);

/** Chromium asks nobody about itself: tests see only what a page asks for. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A real, headless Chromium with an empty profile of its own. */
export interface OpenBrowser {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

export async function openBrowser(options: BrowserContextOptions = {}): Promise<OpenBrowser> {
  const profile = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: true,
    args: ARGUMENTS,
    ...options,
  });
  return {
    context,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** What a page does that it should not: errors in its console, and requests to any other host. */
export function watchPage(page: Page, origin: string): readonly string[] {
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      problems.push(`${message.text()} (${message.location().url})`);
    }
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:' && url.protocol !== 'blob:') {
      problems.push(`a request to ${url.origin}`);
    }
  });
  return problems;
}
