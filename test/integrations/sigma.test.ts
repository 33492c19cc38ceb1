import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { isExpressible, sigmaFiles } from '../../integrations/sigma/sigma.ts';
import { OWN_TYPES } from '../../src/events/domain.ts';
import { wildcard } from '../../src/events/match-search.ts';
import { formatEcs } from '../../src/forward/formats/ecs.ts';
import { alertRuleSchema } from '../../src/alerts/alert-rule.ts';
import { BUILT_IN_RULES } from '../../src/alerts/built-in-rules.ts';
import { createMatch } from '../../src/alerts/match-rule.ts';
import type { StoredEvent } from '../../src/events/stored-event.ts';
import { EVENTS, sampleEvent, storedEvent } from '../forward/formats/stored-events.ts';

const texts = z.union([z.string().transform((text) => [text]), z.array(z.string()).min(1)]);
const shared = {
  title: z.string().max(256),
  id: z.uuid(),
  name: z.string(),
  status: z.enum(['stable', 'test', 'experimental', 'deprecated', 'unsupported']),
  description: z.string(),
  author: z.string(),
  tags: z.array(z.string().regex(/^[a-z-]+\.[a-z0-9.-]+$/)),
  level: z.enum(['informational', 'low', 'medium', 'high', 'critical']),
};

/** A rule and a correlation of the Sigma specification 2.1.0, with the members that these files use. */
const Rule = z.strictObject({
  ...shared,
  logsource: z.strictObject({ product: z.string(), service: z.string() }),
  detection: z
    .object({ condition: z.enum(['selection', '1 of selection_*']) })
    .catchall(z.record(z.string(), texts)),
});
const Correlation = z.strictObject({
  ...shared,
  correlation: z
    .strictObject({
      type: z.enum(['event_count', 'value_count']),
      rules: z.array(z.string()).length(1),
      'group-by': z.array(z.string()),
      timespan: z.string().regex(/^\d+[smhd]$/),
      condition: z.strictObject({ field: z.string().optional(), gte: z.int().min(2) }),
    })
    .refine(({ type, condition }) => (type === 'value_count') === (condition.field !== undefined)),
});

const FILES = Object.entries(sigmaFiles()).map(
  ([file, text]) =>
    [file, text.split('---\n').map((document) => z.unknown().parse(parse(document)))] as const,
);

/** The fields of a document, with dots. */
const fieldsOf = (value: unknown, path = ''): Map<string, unknown> => {
  const object = z.record(z.string(), z.unknown()).safeParse(value).data;
  if (object === undefined) return new Map([[path, value]]);
  return new Map(
    Object.entries(object).flatMap(([name, member]) => [
      ...fieldsOf(member, path === '' ? name : `${path}.${name}`),
    ]),
  );
};

/** Whether an event is selected: Sigma compares texts in any case, and `*` matches any characters. */
function selects(rule: z.output<typeof Rule>, event: StoredEvent): boolean {
  const fields = fieldsOf(JSON.parse(formatEcs(event)));
  const { condition: _, ...selections } = rule.detection;
  return Object.values(selections).some((selection) =>
    Object.entries(selection).every(([key, values]) => {
      const [field = '', modifier] = key.split('|');
      const value = fields.get(field);
      if (typeof value !== 'string') return false;
      return values.some((pattern) => wildcard(modifier === 'startswith' ? `${pattern}*` : pattern)(value));
    }),
  );
}

const DESCRIPTIONS = [
  'Administrator jane was created',
  'ROLE auditor was assigned to jane',
  'User jane generated API token "x"',
  'Webhook subscription audit was updated',
  'Login failed for jane',
  'Nothing',
];

/** Samples of all kinds, and what the rules look for. */
const SAMPLES: readonly StoredEvent[] = [
  ...EVENTS,
  ...DESCRIPTIONS.map((description) => sampleEvent('AUDIT_LOG_ALL', { description, code: 99_999 })),
  ...['Access-Accept', 'Access-Reject'].map((reply) => sampleEvent('AUTHENTICATION_LOG_ALL', { reply })),
  ...['delete', 'download'].map((category) => sampleEvent('GDPR_LOG_ALL', { category, status: 'complete' })),
  {
    ...storedEvent('OTHER', { ownerId: 1 }),
    origin: 'xiq-sink',
    columns: { sent_type: OWN_TYPES.subscription },
  },
];

describe('the Sigma rules', () => {
  it('are the built-in rules, each with ids and names of its own', () => {
    const documents = FILES.flatMap(([, all]) => all.map((one) => z.looseObject(shared).parse(one)));
    expect(new Set(documents.map(({ id }) => id)).size).toBe(documents.length);
    expect(FILES.map(([file]) => file)).toEqual(BUILT_IN_RULES.map(({ name }) => `${name}.yml`));
  });

  test.each(FILES)('%s has the shape of the specification', (file, [rule, correlation, ...more]) => {
    expect(more).toEqual([]);
    const { name } = Rule.parse(rule);
    if (correlation === undefined) return;
    const { correlation: counted, name: own } = Correlation.parse(correlation);
    expect(counted.rules).toEqual([name]);
    expect(`${own}.yml`).toBe(file);
  });

  test.each(FILES)('%s selects the events that the rule looks at', (file, [document]) => {
    const built = BUILT_IN_RULES.find(({ name }) => `${name}.yml` === file);
    const rule = alertRuleSchema.parse(built);
    const sigma = Rule.parse(document);
    if (!isExpressible(rule)) return;
    const matches = createMatch(rule);
    const wanted = SAMPLES.filter(matches);
    expect(SAMPLES.filter((event) => selects(sigma, event))).toEqual(wanted);
    expect(wanted.length).toBeGreaterThan(0);
  });

  it('match the alerts of the rules that Sigma cannot express', () => {
    const alert = EVENTS.find(({ origin }) => origin === 'xiq-sink');
    if (alert === undefined) throw new Error('no sample of an alert');
    for (const name of ['login-at-unusual-hours', 'client-at-distant-places']) {
      const [, documents = []] = FILES.find(([file]) => file === `${name}.yml`) ?? [];
      const raised = { ...alert, payload: { ...alert.payload, rule: name } };
      expect(selects(Rule.parse(documents[0]), raised)).toBe(true);
      expect(selects(Rule.parse(documents[0]), alert)).toBe(false);
    }
  });
});
