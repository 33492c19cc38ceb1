import type { Fact, Facts } from './facts.ts';
import { text } from './readings.ts';
import type { Reading } from './readings.ts';

/** A fact, the key it is written under, how it is read; and the label that CEF wants beside a custom key. */
export interface Entry {
  readonly fact: string;
  readonly key: string;
  readonly reading?: Reading<string | number>;
  readonly label?: string;
}

/** How the key-and-value part of a line is written. */
export interface Dialect {
  readonly entries: readonly Entry[];
  /** Facts that the line leaves out. */
  readonly omit: readonly string[];
  /** The key of a fact without an entry. */
  readonly keyOf: (fact: string) => string;
  readonly escape: (value: string) => string;
  readonly delimiter: string;
}

/** Prepares a dialect: what goes around the values is put together once, not for each event. */
export function compileExtension({
  entries,
  omit,
  keyOf,
  escape,
  delimiter,
}: Dialect): (facts: Facts) => string {
  const known = new Set([...entries.map(({ fact }) => fact), ...omit]);
  const prepared = entries.map(({ fact, key, reading = text, label }) => ({
    fact,
    prefix: `${key}=`,
    reading,
    suffix: label === undefined ? '' : `${delimiter}${key}Label=${escape(label)}`,
  }));
  const prefixes = new Map<string, string>();

  function prefixOf(fact: string): string {
    const prefix = prefixes.get(fact) ?? `${keyOf(fact)}=`;
    prefixes.set(fact, prefix);
    return prefix;
  }

  return ({ told, derived }) => {
    const pairs: string[] = [];
    for (const { fact, prefix, reading, suffix } of prepared) {
      const value: Fact | undefined = derived[fact] ?? told[fact];
      const read = value === undefined ? undefined : reading(value);
      if (read !== undefined) pairs.push(prefix + escape(String(read)) + suffix);
    }
    for (const fact of Object.keys(told)) {
      const value = known.has(fact) ? undefined : told[fact];
      if (value !== undefined) pairs.push(prefixOf(fact) + escape(text(value)));
    }
    return pairs.join(delimiter);
  };
}

/** `acct_session_id` as `acctSessionId`. */
export const camelCase = (fact: string): string =>
  fact.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
