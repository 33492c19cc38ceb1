import type { Fact, Facts } from './facts.ts';
import { text, type Reading } from './readings.ts';
import type { RecordKind } from './record-kind.ts';

/** CEF and LEEF require a product version. The cloud has none, so this is the version of the mapping. */
export const MAPPING_VERSION = '1';

/** The event class in CEF and LEEF for a record without a code. */
export const EVENT_CLASSES: Readonly<Record<RecordKind, string>> = {
  login: '10001',
  logout: '10002',
  ppskCreated: '40001',
  ppskDeleted: '40003',
  configuration: 'AUDIT',
  authentication: 'RADIUS-AUTH',
  accountingStart: 'RADIUS-ACCT',
  accountingInterim: 'RADIUS-ACCT',
  accountingStop: 'RADIUS-ACCT',
  credential: 'CREDENTIAL',
  email: 'EMAIL',
  sms: 'SMS',
  gdpr: 'GDPR',
  location: 'LOCATION',
  alert: 'ALERT',
};

/** The code of an audit record; otherwise the class of its kind. */
export const eventClass = ({ kind, told }: Facts): string => text(told['code'] ?? EVENT_CLASSES[kind]);

/** A fact, its key, how to read it (default: as text), and the label that CEF requires for a custom key. */
export interface Entry {
  readonly fact: string;
  readonly key: string;
  readonly reading?: Reading<string | number>;
  readonly label?: string;
}

/** How to write the key-value part of a line. */
export interface Dialect {
  readonly entries: readonly Entry[];
  /** Facts to leave out. */
  readonly omit: readonly string[];
  /** The key of a fact without an entry. */
  readonly keyOf: (fact: string) => string;
  readonly escape: (value: string) => string;
  readonly delimiter: string;
}

/** Prepares a dialect: keys and labels are assembled once instead of for each event. */
export function compileExtension(dialect: Dialect): (facts: Facts) => string {
  const { entries, omit, keyOf, escape, delimiter } = dialect;
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
