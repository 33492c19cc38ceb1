import { stringify } from 'yaml';
import { z } from 'zod';
import { v5 as uuidv5 } from 'uuid';
import { alertRuleSchema, type AlertRule } from '../../src/alerts/alert-rule.ts';
import { BUILT_IN_RULES } from '../../src/alerts/built-in-rules.ts';
import { actionOf, kindsNamed, type RecordKind } from '../../src/events/record-kind.ts';
import { MESSAGE_TYPES } from '../../src/events/domain.ts';
import { typesOfTerms, type EventTerm } from '../../src/events/search-query.ts';

/*
 * The built-in rules as Sigma rules (specification 2.1.0) on the fields of the format `ecs`. A count is a correlation.
 * Sigma has no distances, no hours of the day and no silence, so three rules match the alerts that this program raises itself.
 */

/** The ids of the rules are made from their names. */
const NAMESPACE = '5e0f2a54-6f0e-5f57-9d3e-6a0f2f1d8c3b';

const FIELD_OF_COLUMN: Readonly<Record<string, string>> = {
  user_name: 'user.name',
  client_mac: 'source.mac',
  message_type: 'event.provider',
  description: 'message',
  sent_type: 'xiq.sent_type',
};

const fieldOf = (column: string): string => {
  const field = FIELD_OF_COLUMN[column];
  if (field === undefined) throw new Error(`integrations/sigma: no field for the column ${column}`);
  return field;
};

/** The action of a request about personal data ends with its outcome. */
const isPrefix = (kind: RecordKind) => kind === 'gdprDeletion' || kind === 'gdprDownload';

type Selection = Record<string, string | readonly string[]>;

/** The terms of a filter as a selection: all of its fields must match one of their values. */
function selectionOf(terms: readonly EventTerm[]): Selection {
  const types = typesOfTerms(terms);
  return {
    ...(types.length < MESSAGE_TYPES.length && { 'event.provider': types }),
    ...Object.fromEntries(terms.filter(({ key }) => key !== 'type').map(memberOf)),
  };
}

function memberOf(term: EventTerm): readonly [string, string | readonly string[]] {
  if (term.key === 'column') return [fieldOf(term.column), term.patterns];
  const texts = term.values.map(({ text }) => text);
  if (term.key === 'outcome') return ['event.outcome', texts.join()];
  if (term.key !== 'action') throw new Error(`integrations/sigma: no field for the term ${term.key}`);
  const isOpen = texts.some((text) => kindsNamed(text, false).some(isPrefix));
  return [isOpen ? 'event.action|startswith' : 'event.action', texts];
}

/** A time span as Sigma writes it. */
function timespanOf(ms: number): string {
  for (const [unit, size] of [
    ['h', 3_600_000],
    ['m', 60_000],
  ] as const) {
    if (ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms / 1_000}s`;
}

/** Whether Sigma can say what the rule looks at. */
export const isExpressible = (rule: AlertRule) =>
  rule.apart === undefined && rule.first_seen === undefined && rule.silent_for === undefined;

function detectionOf(rule: AlertRule): Record<string, Selection | string> {
  if (!isExpressible(rule)) {
    return {
      selection: { 'event.action': actionOf('ruleAlert'), 'rule.name': rule.name },
      condition: 'selection',
    };
  }
  const selections = rule.filter.map(
    (filter, index) => [`selection_${index + 1}`, selectionOf(filter)] as const,
  );
  return { ...Object.fromEntries(selections), condition: '1 of selection_*' };
}

/** The documents of a rule: one, or the events to count and the correlation that counts them. */
function documentsOf(rule: AlertRule): readonly object[] {
  const { name, title, severity, within, count, distinct, group_by: columns } = rule;
  const counts = isExpressible(rule) && within !== undefined;
  const shared = { status: 'experimental', author: 'xiq-sink', tags: ['detection.threat-hunting'] };
  const found = {
    title: counts ? `${title}: events` : title,
    id: uuidv5(counts ? `${name}-events` : name, NAMESPACE),
    name: counts ? `${name}-events` : name,
    ...shared,
    description: isExpressible(rule)
      ? `${title}. The rule ${name} of xiq-sink.`
      : `${title}. Sigma cannot express this rule, so it matches the alerts that xiq-sink raises if its rule ${name} is on.`,
    logsource: { product: 'extremecloud_iq', service: 'xiq-sink' },
    detection: detectionOf(rule),
    level: counts ? 'informational' : severity,
  };
  if (!counts) return [found];
  const correlation = {
    title,
    id: uuidv5(name, NAMESPACE),
    name,
    ...shared,
    description: `${title} within ${timespanOf(within)}. The rule ${name} of xiq-sink.`,
    correlation: {
      type: distinct === undefined ? 'event_count' : 'value_count',
      rules: [found.name],
      'group-by': ['xiq.source', ...columns.map(fieldOf)],
      timespan: timespanOf(within),
      condition: { ...(distinct !== undefined && { field: fieldOf(distinct) }), gte: count },
    },
    level: severity,
  };
  return [found, correlation];
}

/** The Sigma rules by file. */
export const sigmaFiles = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    z
      .array(alertRuleSchema)
      .parse(BUILT_IN_RULES)
      .map((rule) => [
        `${rule.name}.yml`,
        documentsOf(rule)
          .map((document) => stringify(document, { lineWidth: 120 }))
          .join('---\n'),
      ]),
  );
