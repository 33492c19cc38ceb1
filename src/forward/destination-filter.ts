import { z } from 'zod';
import { FAMILIES, MESSAGE_TYPES } from '../events/domain.ts';
import { createSearchMatch } from '../events/match-search.ts';
import { columnTerm, exactTerms, parseSearch, type EventTerm } from '../events/search-query.ts';
import { isRuleAlert, type StoredEvent } from '../events/stored-event.ts';

const identifiers = z.array(z.union([z.int(), z.string().regex(/^\d{1,19}$/)]).transform(String)).min(1);

const searchLine = z.string().transform((text, context) => {
  const { terms, problem } = parseSearch(text);
  if (terms !== undefined) return terms;
  context.addIssue({ code: 'custom', message: problem });
  return z.NEVER;
});

/** Which events are meant, as settings write it: those that match one value of every condition that is set. */
export const eventConditionsSchema = z.strictObject({
  message_types: z.array(z.enum(MESSAGE_TYPES)).min(1).optional(),
  families: z.array(z.enum(FAMILIES)).min(1).optional(),
  sources: z.array(z.string()).min(1).optional(),
  orgs: identifiers.optional(),
  codes: identifiers.optional(),
  /** User names; `*` matches any characters. */
  users: z.array(z.string().min(1)).min(1).optional(),
  /** A search line (docs/searching.md). */
  search: searchLine.optional(),
});

export const termsOfConditions = (given: z.output<typeof eventConditionsSchema>): readonly EventTerm[] => [
  ...exactTerms({ type: given.message_types, source: given.sources, org: given.orgs, code: given.codes }),
  ...exactTerms({ type: given.families }),
  ...(given.users === undefined ? [] : [columnTerm('user_name', given.users)]),
  ...(given.search ?? []),
];

export const destinationFilterSchema = eventConditionsSchema
  .extend({
    /** Alerts of rules alone, or no alerts but those whose rule names the destination. */
    rule_alerts: z.enum(['only', 'named']).optional(),
  })
  .transform(({ rule_alerts: ruleAlerts, ...given }) => ({ terms: termsOfConditions(given), ruleAlerts }));

export type DestinationFilter = z.output<typeof destinationFilterSchema>;

/** Creates the test whether an event matches the filter. */
export function createFilter({ terms, ruleAlerts }: DestinationFilter): (event: StoredEvent) => boolean {
  const matches = createSearchMatch(terms);
  return (event) =>
    matches(event) && (ruleAlerts === undefined || (ruleAlerts === 'only') === isRuleAlert(event));
}
