import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { openBrowser, watchPage, type OpenBrowser } from './browser.ts';

/** A page of a browser in use by the tests of a `describe`. Its members are there from the first test on. */
export interface UsedBrowser {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the page has done so far that it should not. */
  readonly problems: readonly string[];
}

/** Opens a page before the first test of a `describe`, for the console at the address that `url` then returns. */
export function useBrowser(url: () => string, options: BrowserContextOptions = {}): UsedBrowser {
  let browser: OpenBrowser;
  let page: Page;
  let problems: readonly string[];
  beforeAll(async () => {
    browser = await openBrowser({ viewport: { width: 1280, height: 900 }, ...options });
    page = await browser.context.newPage();
    problems = watchPage(page, url());
  });
  afterAll(() => browser.close());
  return {
    get context() {
      return browser.context;
    },
    get page() {
      return page;
    },
    get problems() {
      return problems;
    },
  };
}
