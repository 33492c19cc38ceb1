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
 * and a page that scrolls sideways on a telephone. Takes a picture of it at each width, named after `name`.
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
      if (width === 390) problems.push(...(await scrollsSideways(page)).map((what) => `${name}: ${what}`));
      if (width === 1280)
        problems.push(...(await violationsOf(page)).map((what) => `${name}, ${colorScheme}: ${what}`));
    }
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

async function scrollsSideways(page: Page): Promise<string[]> {
  const [has, wants] = z
    .tuple([z.number(), z.number()])
    .parse(
      await page.evaluate('[document.documentElement.clientWidth, document.documentElement.scrollWidth]'),
    );
  return wants > has ? [`scrolls sideways: ${wants} px in ${has} px`] : [];
}
