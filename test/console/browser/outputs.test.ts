import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { reportsArea } from '../../../src/console/reports/reports-area.ts';
import { hasChromium } from '../../support/browser.ts';
import { fileDestination, storeAudits } from '../../support/actions.ts';
import { outputsForTests } from '../../support/outputs.ts';
import { problemsOf } from '../../support/page-checks.ts';
import { settingsForTests } from '../../support/sources.ts';
import { useBrowser } from '../../support/use-browser.ts';
import { useConsole } from '../../support/use-console.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { eventsForTests } from '../../support/events-area.ts';

const directory = useDirectory();

describe.skipIf(!hasChromium())('destinations and alert rules in a browser (needs Chromium)', () => {
  const admin = useConsole(
    (db) => {
      const { destinations, alerts, added } = outputsForTests(db, [fileDestination('archive', directory)]);
      return [
        eventsForTests(db),
        peopleArea({ db }),
        reportsArea({ db, schedules: () => [] }),
        destinations,
        alerts,
        settingsForTests(db, {}, added),
      ];
    },
    {
      logs: true,
      seed: (db) =>
        storeAudits(
          db,
          { userName: 'eve', description: 'API token created by eve' },
          { userName: 'mallory', description: 'API token created by mallory' },
        ),
    },
  );
  const browser = useBrowser(() => admin.url, { timezoneId: 'UTC' });
  let receiver: Server;
  let received = '';
  beforeAll(async () => {
    receiver = createServer((socket) => {
      socket.on('data', (bytes) => (received += bytes.toString()));
      socket.on('end', () => socket.end());
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
  });
  afterAll(() => void receiver.close());

  /** What the tests provoke is no problem: wrong input, and a host that does not exist. */
  const unexpected = () => browser.problems.filter((problem) => !/status of (?:400|502)/.test(problem));

  const open = (path: string) => browser.page.goto(`${admin.url}${path}`);
  const main = () => browser.page.locator('main');
  const fill = (label: string, text: string) =>
    browser.page.getByRole('textbox', { name: label, exact: true }).fill(text);

  it('are tested before they are saved, and changed with the keyboard alone', async () => {
    const { port } = z.object({ port: z.number() }).parse(receiver.address());
    await open('/destinations');
    await main().getByRole('link', { name: 'Syslog', exact: true }).focus();
    await browser.page.keyboard.press('Enter');
    await fill('Host', '127.0.0.1');
    await browser.page.getByLabel('Port', { exact: true }).fill(String(port));
    await browser.page.getByLabel('Transport').selectOption('tcp');
    expect(await problemsOf(browser.page, 'destination-new')).toEqual([]);
    await fill('Only events that match (optional)', 'user:trent');
    await main().getByRole('button', { name: 'Preview' }).click();
    await main().getByText('The filter matches 0 events of the last day.').waitFor();
    await storeAudits(admin.db, { userName: 'trent', description: 'previewed' });
    await main().getByRole('button', { name: 'Preview' }).click();
    await main().getByText('The filter matches 1 event of the last day.').waitFor();
    expect(await main().locator('.shown code').innerText()).toMatch(/^CEF:0\|.*trent/s);
    expect(await problemsOf(browser.page, 'destination-preview')).toEqual([]);
    expect(received).toBe('');
    await fill('Only events that match (optional)', '');
    await main().getByRole('button', { name: 'Send a test event' }).focus();
    await browser.page.keyboard.press('Enter');
    await browser.page.getByText(/^syslog accepted the test event/).waitFor();
    expect(received).toContain('XIQ-SINK-TEST');
    await fill('Host', 'no-such-host.invalid');
    await main().getByRole('button', { name: 'Send a test event' }).click();
    await browser.page.getByText(/^can't send to syslog/).waitFor();
    await fill('Host', '127.0.0.1');
    await browser.page.keyboard.press('Enter');
    await main().getByText('syslog, cef').waitFor();

    await main().getByRole('link', { name: 'syslog', exact: true }).click();
    expect(await problemsOf(browser.page, 'destination-added')).toEqual([]);
    await main().getByRole('link', { name: 'Change' }).click();
    expect(await browser.page.getByLabel('Port', { exact: true }).inputValue()).toBe(String(port));
    const further = browser.page.getByRole('textbox', { name: /^Further options/ });
    expect(await further.inputValue()).toBe('');
    await browser.page.getByLabel('Format').selectOption('leef');
    await fill('Only events that match (optional)', 'type:audit');
    await fill('Further options, as in the settings file (YAML, optional)', 'facility: auth');
    await main().getByRole('button', { name: 'Save' }).click();
    await main().getByText('syslog, leef').waitFor();
    const { definition } = await admin.db
      .selectFrom('added_outputs')
      .select('definition')
      .executeTakeFirstOrThrow();
    expect(definition).toEqual({
      type: 'syslog',
      host: '127.0.0.1',
      port,
      transport: 'tcp',
      format: 'leef',
      filter: { search: 'type:audit' },
      facility: 'auth',
    });
  });

  it('keep a credential that is left empty, and show it nowhere', async () => {
    await open('/destinations/add/splunk');
    await fill('Address', 'https://splunk.example:8088');
    await browser.page.getByLabel('Token', { exact: true }).fill('a-token-of-splunk');
    await main().getByRole('button', { name: 'Save' }).click();
    await main().getByText('splunk_hec, json').waitFor();
    await open('/destinations/splunk/edit');
    expect(await browser.page.content()).not.toContain('a-token-of-splunk');
    await fill('Index (optional)', 'network');
    await main().getByRole('button', { name: 'Save' }).click();
    await browser.page.getByText(/^enter all credentials again/).waitFor();
    await fill('Index (optional)', '');
    await browser.page.getByLabel('Format').selectOption('ecs');
    await main().getByRole('button', { name: 'Save' }).click();
    await main().getByText('splunk_hec, ecs').waitFor();
    await open('/settings');
    await main().getByText('env: SPLUNK_TOKEN').waitFor();
    expect(await problemsOf(browser.page, 'settings-added')).toEqual([]);
  });

  it.each(['sentinel', 'kafka', 'mail', 'slack'])('has a form for %s', async (product) => {
    await open(`/destinations/add/${product}`);
    expect(await problemsOf(browser.page, `destination-${product}`)).toEqual([]);
    const further = await browser.page.getByRole('textbox', { name: /^Further options/ }).inputValue();
    expect(further).toBe(product === 'kafka' ? 'brokers:\n  - kafka.example:9093\ntls: {}\n' : '');
    expect(unexpected()).toEqual([]);
  });

  it('adds a channel of Slack, which gets alerts alone', async () => {
    await open('/destinations/add/slack');
    await browser.page.getByLabel('Address').fill('https://hooks.slack.com/services/T0/B0/a-secret-of-slack');
    await browser.page.keyboard.press('Enter');
    await main().getByText('chat, text').waitFor();
    const { definition } = await admin.db
      .selectFrom('added_outputs')
      .select('definition')
      .where('name', '=', 'slack')
      .executeTakeFirstOrThrow();
    expect(definition).toMatchObject({ service: 'slack', filter: { rule_alerts: 'only' } });
  });

  it('shows the alerts that a rule would have raised, before and after its settings change', async () => {
    await open('/alerts/edit?rule=api-token-made');
    await main().getByText('This rule would have raised 2 alerts in the last 90 days.').waitFor();
    expect(await problemsOf(browser.page, 'rule-built-in')).toEqual([]);
    await main().getByRole('checkbox', { name: 'archive' }).check();
    await main().getByRole('button', { name: 'Switch on' }).click();
    await main().getByRole('button', { name: 'Switch off api-token-made' }).waitFor();

    await main().getByRole('link', { name: 'Add a rule' }).click();
    await fill('Name', 'of-eve');
    await fill('Events that match', 'user:eve');
    await main().getByRole('button', { name: 'Test' }).click();
    await main().getByText('This rule would have raised 1 alert in the last 90 days.').waitFor();
    expect(await problemsOf(browser.page, 'rule-new')).toEqual([]);
    await main().getByRole('button', { name: 'Switch on' }).click();
    await main().getByRole('button', { name: 'Switch off of-eve' }).click();
    await browser.page.getByRole('dialog').getByRole('button', { name: 'Switch off of-eve' }).click();
    await main().getByRole('button', { name: 'Switch off of-eve' }).waitFor({ state: 'detached' });
    expect(await problemsOf(browser.page, 'rules')).toEqual([]);
    await open('/destinations');
    expect(await problemsOf(browser.page, 'destinations-added')).toEqual([]);
    expect(unexpected()).toEqual([]);
  });

  it('lead from the silent access points to an alert about the next ones', async () => {
    await open('/devices?silent=1h');
    await main().getByRole('link', { name: 'Alert me' }).click();
    await fill('Silent for', '2h');
    expect(await problemsOf(browser.page, 'rule-silence')).toEqual([]);
    await main().getByRole('button', { name: 'Switch on' }).click();
    await main().getByRole('button', { name: 'Switch off access-point-silent' }).waitFor();
    await open('/alerts/edit?rule=access-point-silent');
    expect(await browser.page.getByLabel('Silent for').inputValue()).toBe('2h');
    expect(unexpected()).toEqual([]);
  });
});
