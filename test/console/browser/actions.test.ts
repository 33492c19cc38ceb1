import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Area } from '../../../src/console/area.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { subscriptionsOf } from '../../../src/serve/console-actions.ts';
import { quarantineArea } from '../../../src/console/quarantine/quarantine-area.ts';
import { subscriptionsArea } from '../../../src/console/subscriptions/subscriptions-area.ts';
import { EMULATOR_LOGINS } from '../../../emulator/accounts.ts';
import { createEmulator } from '../../../emulator/emulator.ts';
import { listDestinations } from '../../../src/store/destinations/destinations.ts';
import { countQuarantine } from '../../../src/store/quarantine/search-quarantine.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import {
  fileDestination,
  lastAction,
  refuseAll,
  storeDeliveries,
  takenBy,
  unreadableDelivery,
} from '../../support/actions.ts';
import { hasChromium } from '../../support/browser.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { sourcesForTests } from '../../support/sources.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { useConsole } from '../../support/use-console.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { outputsForTests } from '../../support/outputs.ts';

describe.skipIf(!hasChromium())('what people change in a browser (needs Chromium)', () => {
  const emulator = createEmulator({ rate: 0 });
  const directory = useDirectory();
  const opened = new AsyncDisposableStack();
  let apiUrl: string;
  beforeAll(async () => {
    apiUrl = await emulator.listen(0);
  });
  afterAll(async () => {
    await opened.disposeAsync();
    await emulator.close();
  });

  function areasOf(db: Db): readonly Area[] {
    const logger = pino({ level: 'silent' });
    const source = {
      name: 'default',
      secrets: ['a-webhook-secret-of-the-tests'],
      cloud: { apiUrl, credentials: EMULATOR_LOGINS.administrator },
      messageTypes: ['AUDIT_LOG_ALL', 'SMS_LOG_ALL'] as const,
    };
    const publicUrl = 'https://sink.test';
    return [
      quarantineArea({ db, maxBodyBytes: 1024 * 1024, logger }),
      outputsForTests(db, [fileDestination('archive', directory)]).destinations,
      subscriptionsArea(
        subscriptionsOf({ db, sources: () => [source], allNames: () => [], publicUrl, logger, opened }),
      ),
      sourcesForTests(db),
    ];
  }

  const admin = useConsole(areasOf, { logs: true });
  const browser = useBrowser(() => admin.url);
  afterEach(() => {
    if (browser.problems.length > 0) throw new Error(browser.problems.join('\n'));
  });

  const open = () => countQuarantine(admin.db, ALL_SOURCES, {}, 'open');
  const button = (name: string) => browser.page.getByRole('button', { name, exact: true });

  it('replays what is chosen from quarantine, and tells what came of it', async () => {
    const body = JSON.stringify([auditRecord({ description: 'replayed' })]);
    await storeDeliveries(admin.db, unreadableDelivery(body), unreadableDelivery(body.slice(0, -1)));
    await browser.page.goto(`${admin.url}/quarantine`);
    await button('Replay all 2').waitFor();
    await browser.page
      .getByRole('checkbox', { name: /^Select the item/ })
      .first()
      .check();
    await button('Replay 1').waitFor();
    await browser.page.getByRole('checkbox', { name: 'Select this page' }).check();
    await button('Replay 2').click();
    await browser.page
      .getByText('1 replayed: 1 event, 0 duplicates, 0 quarantined again; 1 not replayed.')
      .waitFor();
    expect(await lastAction(admin.db)).toMatchObject({ action: 'quarantine.replay', via: 'console' });
    await browser.page.getByRole('link', { name: 'Reload' }).click();
    await browser.page.getByText('1 open item', { exact: true }).waitFor();
  });

  it('discards only after it has asked', async () => {
    await browser.page.goto(`${admin.url}/quarantine`);
    const before = await open();
    await button('Discard').click();
    await browser.page.getByRole('dialog').getByText('permanently').waitFor();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(await open()).toBe(before);
    await button('Discard').click();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    await browser.page.getByText(`${before} discarded.`).waitFor();
    expect(await open()).toBe(0);
  });

  it('tells why one cannot be replayed, and leaves it open', async () => {
    const packed = { reason: 'no such encoding', content: '', encoding: 'compress' };
    await storeDeliveries(admin.db, unreadableDelivery('', { unreadable: [packed] }));
    await browser.page.goto(`${admin.url}/quarantine`);
    await browser.page.locator('td a').first().click();
    // The list has a button of that name, too, and stays until the page of the one has come.
    await browser.page.waitForURL(/\/quarantine\/./);
    await button('Replay').click();
    await browser.page.getByText(/^Not replayed: /).waitFor();
    expect(await open()).toBe(1);
  });

  it('pauses, tests and resumes a destination', async () => {
    await browser.page.goto(`${admin.url}/destinations/archive`);
    await button('Pause archive').click();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await browser.page.getByText('archive is paused.').waitFor();
    expect(await listDestinations(admin.db)).toMatchObject([{ state: 'paused' }]);
    await button('Send a test event to archive').click();
    await browser.page.getByText('archive accepted the test event').waitFor();
    await button('Resume archive').click();
    await browser.page.getByText('archive resumes within a second.').waitFor();
  });

  it('adds a source with its generated secret, follows its set-up, rotates and disables it', async () => {
    await browser.page.goto(`${admin.url}/sources`);
    await browser.page.getByRole('link', { name: 'Add a source' }).click();
    await browser.page.getByLabel('Name', { exact: true }).fill('customer-a');
    await browser.page.getByLabel('AUDIT_LOG_ALL').check();
    await browser.page.getByLabel('Deliveries/s').fill('200');
    expect(await problemsOf(browser.page, 'source-add')).toEqual([]);
    await button('Add').click();
    await browser.page.getByText('The new secret of customer-a, shown only once:').waitFor();
    const shown = browser.page.locator('.shown code');
    const first = await shown.textContent();
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    const proceed = async () => {
      await browser.page.getByRole('link', { name: 'Continue' }).click();
      await browser.page.waitForURL(`${admin.url}/sources/customer-a`);
    };
    await proceed();
    await browser.page.getByText('200 deliveries/s').waitFor();
    await browser.page.getByRole('cell', { name: 'waiting for it' }).waitFor();
    await browser.page.getByText('/ingest/customer-a/AUDIT_LOG_ALL').waitFor();
    expect(await problemsOf(browser.page, 'source')).toEqual([]);
    expect(await browser.page.content()).not.toContain(first);

    await storeDeliveries(
      admin.db,
      queuedDelivery('AUDIT_LOG_ALL', [auditRecord()], { source: 'customer-a' }),
    );
    await browser.page.getByRole('row', { name: /First delivery received done/ }).waitFor();

    await button('Rotate the secret of customer-a').click();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await browser.page.getByText('The new secret of customer-a, shown only once:').waitFor();
    expect(await shown.textContent()).not.toBe(first);
    const again = browser.page.waitForEvent('load');
    await proceed();
    await again;
    await button('Drop the old secrets of customer-a').click();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Drop the old secrets' }).click();
    await browser.page.getByText('The old secrets of customer-a were dropped.').waitFor();

    await button('Disable customer-a').click();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await browser.page.getByText('customer-a is disabled.').waitFor();
    expect(await button('Disable customer-a').count()).toBe(0);
    await browser.page.goto(`${admin.url}/sources`);
    const row = browser.page.getByRole('row', { name: /customer-a/ });
    await row.getByText('disabled', { exact: true }).waitFor();
    await browser.page.getByLabel('Part of the name').fill('customer-b');
    await browser.page.getByText('No source has “customer-b” in its name.').waitFor();
    await browser.page.getByLabel('Part of the name').fill('MER-A');
    await row.waitFor();
    expect((await row.boundingBox())?.height).toBeLessThanOrEqual(30);
  });

  it('sends refused events again, and moves the place of a destination', async () => {
    await refuseAll(admin.db, 'archive');
    await browser.page.goto(`${admin.url}/destinations/archive`);
    await button('Resend all').click();
    await browser.page.getByText('2 resent.').waitFor();
    expect(await takenBy('archive', directory)).toContain('"description":"replayed"');
    await browser.page.getByLabel(/^Resend from/).fill('7d');
    await button('Resend').first().click();
    await browser.page.getByRole('dialog').getByText('Events already sent are resent.').waitFor();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Resend' }).click();
    await browser.page.getByText('Resending.').waitFor();
    expect(await lastAction(admin.db)).toMatchObject({ action: 'destination.rewind' });
    await button('Skip backlog').click();
    await browser.page.getByRole('dialog').getByText('will not be sent to it').waitFor();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Skip backlog' }).click();
    await browser.page.getByText('The backlog was skipped.').waitFor();
    expect(await lastAction(admin.db)).toMatchObject({ action: 'destination.rewind' });
    await waitFor(async () => (await button('Skip backlog').count()) === 0);
  });

  it('shows the plan of the subscriptions, and applies it after it has asked', async () => {
    await browser.page.goto(`${admin.url}/subscriptions`);
    await browser.page.getByText('2 to create, 0 to update, 0 to delete, 0 unchanged.').waitFor();
    await button('Apply plan').click();
    await browser.page.getByRole('dialog').getByText('Change 2 subscriptions of default').waitFor();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
    await browser.page.getByText('2 applied and confirmed by the cloud.').waitFor();
    await browser.page.getByText('All 2 match the settings.').waitFor();
    await waitFor(async () => (await button('Apply plan').count()) === 0);
    expect(await lastAction(admin.db)).toMatchObject({ action: 'subscriptions.apply', outcome: 'done' });
  });
});
