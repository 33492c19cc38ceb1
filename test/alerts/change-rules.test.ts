import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withStoredRules } from '../../src/alerts/parse-rules.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { listAddedOutputs } from '../../src/store/destinations/added-outputs.ts';
import { storeDeliveries } from '../support/actions.ts';
import { startAdmin, type RunningAdmin } from '../support/admin.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { outputsForTests } from '../support/outputs.ts';
import { whileHeld } from '../support/row-lock.ts';
import { useDatabase } from '../support/use-database.ts';

const WEBHOOK = 'https://hooks.slack.com/services/T0/B0/a-secret-of-slack';

const test = useDatabase({ logs: true });

let outputs: ReturnType<typeof outputsForTests>;
let admin: RunningAdmin;
beforeAll(async () => {
  outputs = outputsForTests(test.db);
  admin = await startAdmin([outputs.alerts, outputs.destinations], test.db);
  const records = Array.from({ length: 7 }, (_, userId) =>
    auditRecord({ userId, userName: 'eve', timeStamp: Date.now() - 7_000 + userId * 1_000 }),
  );
  await storeDeliveries(test.db, queuedDelivery('AUDIT_LOG_ALL', records));
});
afterAll(() => admin.close());
beforeEach(() => test.query`delete from added_outputs`);

const rules = () => withStoredRules(test.db, outputs.live.config.rules);

const Tested = z.object({ summary: z.string(), newest: z.array(z.string()) });
const Rules = z.object({ items: z.array(z.object({ name: z.string(), on: z.boolean() })) });

it('a built-in rule is switched on with its own threshold, changed, and switched off', async () => {
  await admin.post('/alert-rules', { use: 'logins-failed', count: '3' });
  expect(await rules()).toMatchObject([{ name: 'logins-failed', count: 3, title: 'Many failed logins' }]);
  const { items } = Rules.parse(await admin.get('/alert-rules'));
  expect(items.filter(({ on }) => on).map(({ name }) => name)).toEqual(['logins-failed']);
  await admin.post('/alert-rules', { use: 'logins-failed', within: '1h' });
  expect(await rules()).toMatchObject([{ count: 15, within: 3_600_000 }]);
  await admin.post('/alert-rules/logins-failed/delete', {});
  expect(await rules()).toEqual([]);
  const actions = await listActions(test.db, { limit: 3 });
  expect(actions.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
    'rule.delete done',
    'rule.save done',
    'rule.save done',
  ]);
});

it('a search becomes a rule, and shows beforehand what it would have raised', async () => {
  const given = { name: 'of-eve', search: 'user:eve' };
  const tested = Tested.parse(await admin.post('/alert-rules/test', given));
  expect(tested.summary).toBe('This rule would have raised 7 alerts in the last 90 days. The newest 5:');
  expect(tested.newest).toHaveLength(5);
  expect(tested.newest).toEqual(tested.newest.toSorted().toReversed());
  for (const one of tested.newest) expect(one).toMatch(/^of-eve: 1 event at \d{4}-\S+Z$/);
  const counted = { ...given, count: 3, within: '31d' };
  expect(await admin.post('/alert-rules/test', counted)).toMatchObject({
    summary: 'This rule would have raised 1 alert in the last 90 days.',
    newest: [expect.stringMatching(/^of-eve: 3 events from \S+Z to \S+Z$/)],
  });
  expect(await listAddedOutputs(test.db)).toEqual([]);
  await admin.post('/alert-rules', given);
  expect(await rules()).toMatchObject([{ name: 'of-eve', title: 'of-eve', severity: 'medium' }]);
});

it('sends to a Slack webhook, which becomes a destination for alerts', async () => {
  await admin.post('/alert-rules', { use: 'many-keys-made', slack_url: WEBHOOK });
  await admin.post('/alert-rules', {
    use: 'logins-failed',
    slack_url: `${WEBHOOK}-2`,
    destinations: ['slack'],
  });
  expect((await rules()).map(({ destinations }) => destinations)).toEqual([['slack', 'slack-2'], ['slack']]);
  expect(outputs.live.config.destinations).toMatchObject([
    { name: 'slack', type: 'chat', filter: { ruleAlerts: 'only' } },
    { name: 'slack-2', type: 'chat' },
  ]);
  const log = await listActions(test.db, { limit: 10 });
  expect(JSON.stringify([log, await listAddedOutputs(test.db)])).not.toContain('a-secret-of-slack');
});

it.each([
  [{ use: 'no-such-rule' }, /must be one of/],
  [{ name: 'mine', search: 'nokey:1' }, /search: .*nokey/],
  [{ name: 'mine' }, /filter/],
  [{ use: 'logins-failed', within: 'long' }, /must be a duration/],
  [{ use: 'logins-failed', destinations: ['nowhere'] }, /there is no destination nowhere/],
  [{ use: 'no-such-rule', slack_url: WEBHOOK }, /must be one of/],
  [{ use: 'logins-failed', slack_url: 'http://slack' }, /must be an address/],
])('%j is refused, and nothing is added', async (given, message) => {
  const error = await admin.post('/alert-rules', given).catch((thrown: unknown) => thrown);
  expect(String(error)).toMatch(/answered 400/);
  expect(String(error)).toMatch(message);
  expect(await listAddedOutputs(test.db)).toEqual([]);
});

describe('a destination that is deleted while a rule is saved', () => {
  const rule = { use: 'logins-failed', destinations: ['mails'] };
  const mails = sql`from added_outputs where kind = 'destination' and name = 'mails'`;
  beforeEach(() =>
    admin.post('/destinations', { name: 'mails', type: 'chat', url: WEBHOOK, service: 'slack' }),
  );

  it('is gone, and the rule is refused', async () => {
    const saving = whileHeld(test.db, sql`delete ${mails}`, () => admin.post('/alert-rules', rule));
    await expect(saving).rejects.toThrow('answered 4');
    expect(await listAddedOutputs(test.db)).toEqual([]);
  });

  it('stays if the rule was first', async () => {
    const saved = sql`with held as (select name ${mails} for share)
      insert into added_outputs (kind, name, definition) select 'rule', 'logins-failed', ${rule}::jsonb from held`;
    const deleting = whileHeld(test.db, saved, () => admin.post('/destinations/mails/delete', {}));
    await expect(deleting).rejects.toThrow('answered 4');
    expect((await listAddedOutputs(test.db)).map(({ name }) => name)).toEqual(['mails', 'logins-failed']);
  });
});
