import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { z } from 'zod';

/** Where the pictures of pages are put for a person to look at. */
const SCREENSHOTS = process.env['SCREENSHOTS'] ?? path.resolve(import.meta.dirname, '../screenshots');

const SCHEMES = ['light', 'dark'] as const;

/** A telephone, a laptop, a large screen. */
const WIDTHS = [390, 1280, 1920] as const;

/** Between them the layout changes; at the first, text is enlarged on a telephone. */
const OTHER_WIDTHS = [320, 561, 760, 899, 900, 1024] as const;

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

const resultSchema = z.object({
  violations: z.array(
    z.object({
      id: z.string(),
      impact: z.string().nullable(),
      nodes: z.array(z.object({ html: z.string(), failureSummary: z.string() })),
    }),
  ),
});

/**
 * What is wrong with a page as it stands, in light and in dark: serious and critical violations that axe-core finds,
 * and anything that is cut off at a width. Takes a picture of it at each width, named after `name`.
 */
export async function problemsOf(page: Page, name: string): Promise<string[]> {
  const problems: string[] = [];
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({
        path: path.join(SCREENSHOTS, `${name}-${width}-${colorScheme}.png`),
        fullPage: true,
      });
      problems.push(...(await cutOff(page)).map((what) => `${name}, ${width} px: ${what}`));
      if (width === 1280)
        problems.push(...(await violationsOf(page)).map((what) => `${name}, ${colorScheme}: ${what}`));
    }
  }
  for (const width of OTHER_WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    problems.push(...(await cutOff(page)).map((what) => `${name}, ${width} px: ${what}`));
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  return [...new Set(problems)];
}

/** Evaluated from outside, which the page's Content-Security-Policy does not touch. */
async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const result: unknown = await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"], preload: false })',
  );
  return resultSchema
    .parse(result)
    .violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`));
}

/** Parts of the page beside the window, and entries of the navigation that do not fit. */
async function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    const entries = [
      ...document.querySelectorAll<HTMLElement>('.frame li a > span, .frame :is(li, form) button'),
    ];
    return [
      ...(scrollWidth > clientWidth ? [`scrolls sideways: ${scrollWidth} px in ${clientWidth} px`] : []),
      ...entries
        .filter((entry) => entry.checkVisibility() && getComputedStyle(entry).position !== 'absolute')
        .filter((entry) => {
          const { left, right } = entry.getBoundingClientRect();
          return left < 0 || right > clientWidth || entry.scrollWidth > entry.clientWidth + 1;
        })
        .map((entry) => `"${entry.textContent}" of the navigation is cut off`),
    ];
  });
}
