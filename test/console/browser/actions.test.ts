import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { replayerOf, sendingOf, subscriptionsOf } from '../../../src/serve/console-actions.ts';
import { destinationsArea } from '../../../src/console/destinations/destinations-area.ts';
import { quarantineArea } from '../../../src/console/quarantine/quarantine-area.ts';
import { subscriptionsArea } from '../../../src/console/subscriptions/subscriptions-area.ts';
import { EMULATOR_LOGINS } from '../../../emulator/accounts.ts';
import { createEmulator } from '../../../emulator/emulator.ts';
import { listDestinations } from '../../../src/store/destinations.ts';
import { countQuarantine } from '../../../src/store/search-quarantine.ts';
import { ALL_SOURCES } from '../../../src/store/scope.ts';
import {
  fileDestination,
  lastAction,
  refuseAll,
  storeDeliveries,
  takenBy,
  unreadableDelivery,
} from '../../support/actions.ts';
import { startAdmin } from '../../support/admin.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { runsInBrowser, openBrowser, watchPage } from '../../support/browser.ts';
import type { OpenBrowser } from '../../support/browser.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { auditRecord } from '../../support/deliveries.ts';
import { sourcesForTests } from '../../support/sources.ts';
import { waitFor } from '../../support/wait-for.ts';

describe.skipIf(!runsInBrowser())(
  'what people change in a browser (npm run test:console, needs Chromium)',
  () => {
    const emulator = createEmulator({ rate: 0 });
    let test: TestDatabase;
    let directory: string;
    let opened: AsyncDisposableStack;
    let admin: RunningAdmin;
    let browser: OpenBrowser;
    beforeAll(async () => {
      test = await createTestDatabase({ logs: true });
      const { db } = test;
      directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-console-'));
      const logger = pino({ level: 'silent' });
      opened = new AsyncDisposableStack();
      const source = {
        name: 'default',
        secrets: ['a-webhook-secret-of-the-tests'],
        cloud: { apiUrl: await emulator.listen(0), credentials: EMULATOR_LOGINS.administrator },
        messageTypes: ['AUDIT_LOG_ALL', 'SMS_LOG_ALL'] as const,
      };
      const publicUrl = 'https://sink.test';
      const areas = [
        quarantineArea({ db, replay: replayerOf(db, { maxBodyBytes: 1024 * 1024 }, logger) }),
        destinationsArea({ db, ...sendingOf(db, () => [fileDestination('archive', directory)]) }),
        subscriptionsArea(subscriptionsOf({ db, sources: () => [source], publicUrl, logger, opened })),
        sourcesForTests(db),
      ];
      admin = await startAdmin(areas, db);
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser.close();
      await admin.close();
      await opened.disposeAsync();
      await emulator.close();
      await rm(directory, { recursive: true });
      await test.drop();
    });

    let page: Page;
    let problems: readonly string[];
    beforeEach(async () => {
      page = await browser.context.newPage();
      problems = watchPage(page, admin.url);
    });
    afterEach(async () => {
      await page.close();
      if (problems.length > 0) throw new Error(problems.join('\n'));
    });

    const open = () => countQuarantine(test.db, ALL_SOURCES, {}, 'open');
    const button = (name: string) => page.getByRole('button', { name, exact: true });

    it('replays what is chosen from quarantine, and tells what came of it', async () => {
      const body = JSON.stringify([auditRecord({ description: 'replayed' })]);
      await storeDeliveries(test.db, unreadableDelivery(body), unreadableDelivery(body.slice(0, -1)));
      await page.goto(`${admin.url}/quarantine`);
      await button('Replay').click();
      await page.getByText('Select at least one item.').click();
      await page.getByRole('checkbox', { name: 'Select this page' }).check();
      await button('Replay').click();
      await page
        .getByText('2 replayed: 1 event, 0 duplicates, 1 quarantined again; 0 not replayed.')
        .waitFor();
      expect(await lastAction(test.db)).toMatchObject({ action: 'quarantine.replay', via: 'console' });
      await page.getByRole('link', { name: 'Reload' }).click();
      await page.getByText('1 open item, 1 on this page.').waitFor();
    });

    it('discards only after it has asked', async () => {
      await page.goto(`${admin.url}/quarantine`);
      const before = await open();
      await page.getByRole('checkbox', { name: /^Select all \d+ matching$/ }).check();
      await button('Discard').click();
      await page.getByRole('dialog').getByText('permanently').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
      expect(await open()).toBe(before);
      await button('Discard').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
      await page.getByText(`${before} discarded.`).waitFor();
      expect(await open()).toBe(0);
      expect(await lastAction(test.db)).toMatchObject({ action: 'quarantine.discard', outcome: 'done' });
    });

    it('tells why one cannot be replayed, and leaves it open', async () => {
      const packed = { reason: 'no such encoding', content: '', encoding: 'compress' };
      await storeDeliveries(test.db, unreadableDelivery('', { unreadable: [packed] }));
      await page.goto(`${admin.url}/quarantine`);
      await page.locator('td a').first().click();
      // The list has a button of that name, too, and stays until the page of the one has come.
      await page.waitForURL(/\/quarantine\/./);
      await button('Replay').click();
      await page.getByText(/^Not replayed: /).waitFor();
      expect(await open()).toBe(1);
    });

    it('pauses, tests and resumes a destination', async () => {
      await page.goto(`${admin.url}/destinations`);
      await button('Pause archive').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
      await page.getByText('archive is paused.').waitFor();
      expect(await listDestinations(test.db)).toMatchObject([{ state: 'paused' }]);
      expect(await lastAction(test.db)).toMatchObject({ action: 'destination.pause', via: 'console' });
      await button('Send a test event to archive').click();
      await page.getByText('archive accepted the test event').waitFor();
      expect(await lastAction(test.db)).toMatchObject({ action: 'destination.test' });
      await button('Resume archive').click();
      await page.getByText('archive resumes within a second.').waitFor();
      expect(await lastAction(test.db)).toMatchObject({ action: 'destination.resume' });
    });

    it('adds a source with its generated secret, rotates and disables it', async () => {
      await page.goto(`${admin.url}/sources`);
      await page.getByLabel('Name').fill('customer-a');
      await page.getByLabel('Deliveries/s (optional)').fill('200');
      await button('Add').click();
      await page.getByText('The new secret of customer-a, shown only now:').waitFor();
      const shown = page.locator('.shown code');
      const first = await shown.textContent();
      expect(first).toMatch(/^[0-9a-f]{64}$/);
      const loaded = page.waitForEvent('load');
      await page.getByRole('link', { name: 'Continue' }).click();
      await loaded;
      const row = page.getByRole('row', { name: /customer-a/ });
      await row.getByText('200 deliveries/s').waitFor();
      expect(await page.content()).not.toContain(first);

      await button('Rotate the secret of customer-a').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
      await page.getByText('The new secret of customer-a, shown only now:').waitFor();
      expect(await shown.textContent()).not.toBe(first);
      const again = page.waitForEvent('load');
      await page.getByRole('link', { name: 'Continue' }).click();
      await again;
      await button('Drop the old secrets of customer-a').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Drop the old secrets' }).click();
      await page.getByText('The old secrets of customer-a are dropped.').waitFor();
      expect(await lastAction(test.db)).toMatchObject({ action: 'source.drop-old', via: 'console' });

      await button('Disable customer-a').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
      await page.getByText('customer-a is disabled.').waitFor();
      await row.getByText('disabled', { exact: true }).waitFor();
      expect(await row.getByRole('button').count()).toBe(0);
    });

    it('sends refused events again, and moves the place of a destination', async () => {
      await refuseAll(test.db, 'archive');
      await page.goto(`${admin.url}/destinations/archive`);
      await button('Resend all').click();
      await page.getByText('1 resent.').waitFor();
      expect(await takenBy('archive', directory)).toContain('"description":"replayed"');
      expect(await lastAction(test.db)).toMatchObject({ action: 'destination.replay' });
      await page.getByRole('main').getByRole('combobox').selectOption('7d');
      await button('Move').first().click();
      await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click();
      await page.getByText('The position is moved.').waitFor();
      expect(await lastAction(test.db)).toMatchObject({ action: 'destination.rewind' });
    });

    it('shows the plan of the subscriptions, and applies it after it has asked', async () => {
      await page.goto(`${admin.url}/subscriptions`);
      await page.getByText('2 to create, 0 to update, 0 to delete, 0 unchanged.').waitFor();
      await button('Apply plan').click();
      await page.getByRole('dialog').getByText('Change 2 subscriptions of default').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
      await page.getByText('2 applied and confirmed by the cloud.').waitFor();
      await page.getByText('All 2 match the settings.').waitFor();
      await waitFor(async () => (await button('Apply plan').count()) === 0);
      expect(await lastAction(test.db)).toMatchObject({ action: 'subscriptions.apply', outcome: 'done' });
    });
  },
);
