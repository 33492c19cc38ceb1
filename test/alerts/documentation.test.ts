import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { alertRuleSchema } from '../../src/alerts/alert-rule.ts';
import { BUILT_IN_RULES } from '../../src/alerts/built-in-rules.ts';
import { parseRules } from '../../src/alerts/parse-rules.ts';
import { RECORD_KINDS } from '../../src/events/record-kind.ts';
import { forwardingSettings } from '../support/forwarding-settings.ts';

const PAGE = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8');

/** The first cells of the rows below a heading. */
const namesBelow = (heading: string): string[] => {
  const section = PAGE.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| `(\S+)` /gm)].map(([, name = '']) => name);
};

describe('docs/alerts.md', () => {
  it('lists every built-in rule', () => {
    expect(namesBelow('Built-in rules')).toEqual(BUILT_IN_RULES.map(({ name }) => name));
  });

  it('lists every kind of record', () => {
    const [, kinds = ''] = /^- `kinds` are (.*?)\. `outcome`/m.exec(PAGE) ?? [];
    expect(kinds.match(/(?<=`)\w+(?=`)/g)).toEqual([...RECORD_KINDS]);
  });

  it('lists every setting', () => {
    expect(namesBelow('Settings of a rule').toSorted()).toEqual(
      ['use', ...Object.keys(alertRuleSchema.shape)].toSorted(),
    );
  });

  it('shows settings that are valid', () => {
    const examples = [...PAGE.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) =>
      z.object({ alerts: z.array(z.unknown()).optional() }).parse(parse(text)),
    );
    const alerts = examples.flatMap((example) => example.alerts ?? []);
    const chat = { name: 'chat', type: 'chat', service: 'slack', url: 'https://chat.example/' };
    const rules = parseRules(forwardingSettings({ destinations: [chat], alerts }));
    expect(rules).toHaveLength(6);
  });
});
