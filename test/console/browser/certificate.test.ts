import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { readSignedDocument } from '../../../src/seal/signed-document.ts';
import { generateLogKey, parseLogKey } from '../../../src/seal/signed-note.ts';
import { createSealer } from '../../../src/seal/sealer.ts';
import { recordCoverage } from '../../../src/reconcile/coverage.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { countAll } from '../../support/arrivals.ts';
import { hasChromium } from '../../support/browser.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { knowing } from '../../support/trust.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { useConsole } from '../../support/use-console.ts';
import { storeVariedEvents } from '../../store/events/varied-events.ts';
import { integrityForTests } from '../integrity/integrity-for-tests.ts';

const HOUR = 3_600_000;
const MONTH = new Date().toISOString().slice(0, 'YYYY-MM'.length);
const KEY = parseLogKey(generateLogKey('xiq-sink/5f0c2a52-0b43-4a51-9d10-4d2a6b0f7a0e'));

async function seed(db: Db): Promise<void> {
  await storeVariedEvents(db);
  await countAll(db);
  const hour = Math.floor(Date.now() / HOUR) * HOUR;
  for (const hours of [7, 0]) {
    const range = { from: new Date(hour - 12 * HOUR), to: new Date(hour - 8 * HOUR) };
    const at = new Date(Date.now() - hours * HOUR);
    await recordCoverage(db)('branch', 'AUDIT_LOG_ALL', [], { ...range, at });
  }
  await untilSeen(db);
  const sealer = createSealer(db, KEY, async () => knowing(KEY));
  while ((await sealer.seal()) === 'more');
  await sealer.checkpoint();
}

describe.skipIf(!hasChromium())('the certificate of a month (needs Chromium)', () => {
  let url = '';
  const admin = useConsole((db) => integrityForTests(db, url, KEY), {
    seed: async (db) => {
      url = admin.database.databaseUrl;
      await seed(db);
    },
  });
  const browser = useBrowser(() => admin.url);

  it('is proven, printed and saved without the command line', async () => {
    const { page } = browser;
    await page.goto(`${admin.url}/integrity?month=${MONTH}`);
    await page.getByRole('link', { name: 'Certificate', exact: true }).first().click();
    await page.getByText('were not compared for this page').waitFor();
    expect(await problemsOf(page, 'certificate')).toEqual([]);
    await page.getByRole('button', { name: 'Prove' }).click();
    const save = page.getByRole('link', { name: 'Save certificate' });
    await save.waitFor();
    expect(await page.getByText('as sealed').count()).toBeGreaterThan(0);
    expect(await problemsOf(page, 'certificate-proven')).toEqual([]);
    const [download] = await Promise.all([page.waitForEvent('download'), save.click()]);
    expect(download.suggestedFilename()).toBe(`certificate-${MONTH}.html`);
    const document = await readFile(await download.path(), 'utf8');
    expect(readSignedDocument(document, [KEY.publicText]).name).toBe(`certificate ${MONTH}`);
    const [opened] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('link', { name: 'Open to print' }).click(),
    ]);
    await opened.getByRole('heading', { name: `Certificate ${MONTH}` }).waitFor();
    expect(await problemsOf(opened, 'certificate-printed')).toEqual([]);
    expect(browser.problems).toEqual([]);
  });
});
