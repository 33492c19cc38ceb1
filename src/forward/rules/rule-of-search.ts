import { stringify } from 'yaml';
import type { z } from 'zod';
import { kindsNamed, typesNamed, type SearchTerm, type SearchValue } from '../../search-query.ts';
import type { alertRuleSchema } from './alert-rule.ts';

type Rule = z.input<typeof alertRuleSchema>;
type Filter = Exclude<Rule['filter'], readonly unknown[]>;

/** The name and the title of the rule, which a person replaces. */
const PLACEHOLDERS = { name: 'my-search', title: 'Describe the alert' };

/**
 * A rule that raises an alert for each event that a search finds, in the form of the settings. A comment names each term that
 * a rule cannot express, and that is left out.
 */
export function ruleOfSearch(terms: readonly SearchTerm[]): string {
  const left: SearchTerm[] = [];
  let filters: readonly Filter[] = [{}];
  const exceptions: Filter[] = [];
  for (const term of terms) {
    const alternatives = filtersOf(term);
    if (alternatives === undefined) left.push(term);
    else if (term.isExcluded) exceptions.push(...alternatives);
    else {
      const combined = combine(filters, alternatives);
      if (combined === undefined) left.push(term);
      else filters = combined;
    }
  }
  const rule = {
    ...PLACEHOLDERS,
    filter: filters.length === 1 ? filters[0] : filters,
    ...(exceptions.length > 0 && { except: exceptions }),
  };
  const notes = left.map(({ key }) => `# A rule cannot express this condition, which is left out: ${key}\n`);
  return `${notes.join('')}${stringify({ alerts: [rule] })}`.trimEnd();
}

/** Filters of which one must match for a term; undefined if a rule has no such condition. */
function filtersOf({ key, values }: SearchTerm): readonly Filter[] | undefined {
  const texts = values.map(({ text }) => text);
  const hasPrefix = values.some(({ isPrefix }) => isPrefix);
  const patterns = patternsOf(values);
  switch (key) {
    case 'type':
      return [
        { message_types: [...new Set(values.flatMap((value) => typesNamed(value.text, value.isPrefix)))] },
      ];
    case 'action':
      return [{ kinds: [...new Set(values.flatMap((value) => kindsNamed(value.text, value.isPrefix)))] }];
    case 'outcome':
      return texts.map((text) => ({ outcome: text.toLowerCase() === 'success' ? 'success' : 'failure' }));
    case 'code':
      return [{ codes: texts }];
    case 'org':
      return [{ orgs: texts }];
    case 'source':
      return hasPrefix ? undefined : [{ sources: texts }];
    case 'user':
      return patterns && [{ users: patterns }];
    case 'client':
      return patterns && [{ where: { client_mac: patterns } }];
    case 'ap':
      return patterns && [{ where: { ap_mac: patterns } }];
    case 'mac':
      return patterns && [{ where: { client_mac: patterns } }, { where: { ap_mac: patterns } }];
    case 'ssid':
      return patterns && [{ where: { ssid: patterns } }];
    case 'device':
    case 'origin':
    case 'text':
      return undefined;
  }
}

/** The values as patterns of a rule, in which an asterisk always matches any characters. */
function patternsOf(values: readonly SearchValue[]): string[] | undefined {
  if (values.some(({ text }) => text.includes('*') || text === '')) return undefined;
  return values.map(({ text, isPrefix }) => (isPrefix ? `${text}*` : text));
}

/** Filters that match where one of both lists does; undefined if both have the same condition. */
function combine(filters: readonly Filter[], others: readonly Filter[]): readonly Filter[] | undefined {
  const all: Filter[] = [];
  for (const filter of filters) {
    for (const other of others) {
      const { where: here = {}, ...conditions } = filter;
      const { where: there = {}, ...further } = other;
      if (hasCommonName(conditions, further) || hasCommonName(here, there)) return undefined;
      const where = { ...here, ...there };
      all.push({ ...conditions, ...further, ...(Object.keys(where).length > 0 && { where }) });
    }
  }
  return all;
}

const hasCommonName = (one: object, other: object) => Object.keys(one).some((name) => name in other);
