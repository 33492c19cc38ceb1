import { expect, it } from 'vitest';
import { parseRules } from '../../src/alerts/parse-rules.ts';
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
