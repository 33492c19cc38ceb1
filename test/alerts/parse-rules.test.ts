import { expect, it } from 'vitest';
import { findRule, parseRules } from '../../src/alerts/parse-rules.ts';
import { forwardingSettings } from '../support/forwarding-settings.ts';

const rulesOf = (...alerts: object[]) => parseRules(forwardingSettings({ alerts }));

it('a built-in rule keeps its settings but for those that are given beside its name', () => {
  const [plain, changed] = rulesOf(
    { use: 'many-keys-made' },
    { use: 'many-keys-made', name: 'keys', count: 5 },
  );
  expect(changed).toEqual({ ...plain, name: 'keys', count: 5, fingerprint: changed?.fingerprint });
  expect(changed?.fingerprint).not.toBe(plain?.fingerprint);
});

it('two rules have no name in common', () => {
  expect(() => rulesOf({ use: 'many-keys-made' }, { use: 'many-keys-made' })).toThrow(
    'two rules are named "many-keys-made"',
  );
});

it('a rule is found by its name, as it is set or built in, and a wrong name is told the nearest', () => {
  const rules = rulesOf({ use: 'many-keys-made', count: 5 });
  expect(findRule(rules, 'many-keys-made')).toMatchObject({ count: 5 });
  expect(findRule(rules, 'logins-failed')).toMatchObject({ name: 'logins-failed' });
  expect(() => findRule(rules, 'logins-fail')).toThrow(/"logins-fail".* Did you mean logins-failed\?/);
});

const BURST = { name: 'burst', filter: {}, count: 2, within: '10m' };
const GROUPED = { name: 'group', filter: {}, group_by: ['client_mac'] };

it.each<[given: object, problem: string]>([
  [{ ...BURST, within: undefined }, 'rule burst: within: is required with count or apart'],
  [{ ...GROUPED, apart: 5 }, 'rule group: within: is required with count or apart'],
  [{ ...BURST, within: '32d' }, 'within: must be at most 31d'],
  [{ ...BURST, count: 1, distinct: 'code' }, 'count: must be at least 2 with distinct'],
  [{ ...GROUPED, ...BURST, apart: 5 }, 'apart: cannot be combined with count or distinct'],
  [{ ...BURST, count: 1, apart: 5 }, 'group_by: is required with apart'],
  [{ ...GROUPED, group_by: undefined, silent_for: '1h' }, 'group_by: is required with silent_for'],
  ...[{ within: '1h', count: 2 }, { hours: { from: '06:00', to: '20:00' } }, { within: '1h' }].map(
    (more): [object, string] => [{ ...GROUPED, silent_for: '1h', ...more }, 'silent_for: cannot be combined'],
  ),
  ...['0m', '1w', '1000000s', '1.5h', 'm'].map((within): [object, string] => [
    { ...BURST, within },
    'within: must be a duration',
  ]),
  ...['24:00', '7:30', '07:60'].map((to): [object, string] => [
    { ...GROUPED, hours: { from: '06:00', to } },
    'hours.to: must be a time',
  ]),
  [{ ...GROUPED, group_by: ['nothing'] }, 'group_by.0: must be a column'],
  [{ ...BURST, name: undefined }, 'rule 0: name: '],
  [{ ...BURST, destinations: ['siem', 'nowhere'] }, 'destinations: there is no destination nowhere'],
  [{ use: 'nothing' }, 'alerts: 0.use: must be one of'],
])('%j is refused', (given, problem) => {
  const destinations = [{ name: 'siem', type: 'stdout' }];
  expect(() => parseRules(forwardingSettings({ destinations, alerts: [given] }))).toThrow(problem);
});

it('all that is wrong is told at once, and a list that is none', () => {
  const wrong = [
    { ...BURST, within: '32d', destinations: ['nowhere'] },
    { ...GROUPED, apart: 5 },
  ];
  const told = /burst: within: must.*\n.*burst: destinations: there.*\n.*group: within: is required/;
  expect(() => rulesOf(...wrong)).toThrow(told);
  expect(() => parseRules(forwardingSettings({ alerts: 'all' }))).toThrow('XIQ_SINK_CONFIG: alerts: ');
});

it('durations are milliseconds, hours are minutes of the day', () => {
  const [seconds, days, hours] = rulesOf(
    { ...BURST, within: '90s' },
    { ...BURST, name: 'longest', within: '31d' },
    { ...GROUPED, hours: { from: '00:05', to: '23:59' }, first_seen: { of: ['code'], within: '2h' } },
  );
  expect([seconds?.within, days?.within]).toEqual([90_000, 31 * 86_400_000]);
  expect(hours).toMatchObject({
    hours: { from: 5, to: 1_439 },
    first_seen: { within: 7_200_000, learning: 0 },
  });
});
