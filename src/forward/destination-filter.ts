import { z } from 'zod';
import { FAMILIES, FAMILY_OF, MESSAGE_TYPES, type MessageType } from '../domain.ts';
import { createSearchMatch } from '../match-search.ts';
import { parseSearch } from '../search-query.ts';
import { typesOfTerms } from '../store/search-terms.ts';
import { isRuleAlert, type StoredEvent } from '../store/stored-event.ts';

const identifiers = z.array(z.union([z.int(), z.string().regex(/^\d{1,19}$/)]).transform(String)).min(1);

const searchLine = z.string().transform((text, context) => {
  const { terms, problem } = parseSearch(text);
  if (terms !== undefined) return terms;
  context.addIssue({ code: 'custom', message: problem });
  return z.NEVER;
});

/** Which events a destination receives: those that match one value of every condition that is set. */
export const destinationFilterSchema = z.strictObject({
  message_types: z.array(z.enum(MESSAGE_TYPES)).min(1).optional(),
  families: z.array(z.enum(FAMILIES)).min(1).optional(),
  sources: z.array(z.string()).min(1).optional(),
  orgs: identifiers.optional(),
  codes: identifiers.optional(),
  /** User names; `*` matches any characters. */
  users: z.array(z.string().min(1)).min(1).optional(),
  /** A search line (docs/searching.md). */
  search: searchLine.optional(),
  /** Alerts of rules alone, or no alerts but those whose rule names the destination. */
  rule_alerts: z.enum(['only', 'named']).optional(),
});

export type DestinationFilter = z.output<typeof destinationFilterSchema>;

/** The message types that this filter can select; the others need not be read. */
export function messageTypesOf(filter: DestinationFilter): readonly MessageType[] {
  const { families, message_types: types, codes, search = [] } = filter;
  return typesOfTerms(search).filter(
    (type) =>
      (families === undefined || families.includes(FAMILY_OF[type])) &&
      (types === undefined || types.includes(type)) &&
      // Only audit records have a code.
      (codes === undefined || FAMILY_OF[type] === 'audit'),
  );
}

/** Creates the test whether an event matches the filter. */
export function createFilter(filter: DestinationFilter): (event: StoredEvent) => boolean {
  const users = filter.users?.map(wildcard);
  const isFound = createSearchMatch(filter.search ?? []);
  return (event) =>
    isOneOf(filter.message_types, event.messageType) &&
    isOneOf(filter.families, event.family) &&
    isOneOf(filter.sources, event.source) &&
    isOneOf(filter.orgs, event.orgId) &&
    isOneOf(filter.codes, event.columns['code'] ?? null) &&
    (users === undefined || users.some((user) => user(userOf(event)))) &&
    isFound(event) &&
    (filter.rule_alerts === undefined || (filter.rule_alerts === 'only') === isRuleAlert(event));
}

function isOneOf(allowed: readonly string[] | undefined, value: unknown): boolean {
  return allowed === undefined || (typeof value === 'string' && allowed.includes(value));
}

function userOf({ columns }: StoredEvent): string {
  const user = columns['user_name'] ?? columns['username'];
  return typeof user === 'string' ? user : '';
}

/**
 * Creates the test whether a text matches a pattern, in which `*` matches any characters; case does not matter. It searches
 * the parts between stars one after the other, so that no pattern is slow.
 */
export function wildcard(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.toLowerCase().split('*');
  const last = rest.pop();
  if (last === undefined) return (text) => text.toLowerCase() === first;
  return (text) => {
    const lower = text.toLowerCase();
    if (!lower.startsWith(first) || !lower.endsWith(last)) return false;
    let position = first.length;
    for (const part of rest) {
      const found = lower.indexOf(part, position);
      if (found === -1) return false;
      position = found + part.length;
    }
    return position <= lower.length - last.length;
  };
}
