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
    'two rules have the name "many-keys-made"',
  );
});

it('a rule is found by its name, as it is set or built in, and a wrong name is told the nearest', () => {
  const rules = rulesOf({ use: 'many-keys-made', count: 5 });
  expect(findRule(rules, 'many-keys-made')).toMatchObject({ count: 5 });
  expect(findRule(rules, 'logins-failed')).toMatchObject({ name: 'logins-failed' });
  expect(() => findRule(rules, 'logins-fail')).toThrow(/"logins-fail".* Did you mean logins-failed\?/);
});
