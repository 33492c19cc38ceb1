import type { Facts } from './facts.ts';
import { text, type Fact, type Reading } from './readings.ts';
import type { Outcome, RecordKind } from '../../events/record-kind.ts';

/** CEF and LEEF require a product version. The cloud has none, so this is the version of the mapping. */
export const MAPPING_VERSION = '1';

/** The id of an event in CEF and LEEF: an outcome has its own where a SIEM treats it as another event. */
export const EVENT_IDS: Readonly<Record<RecordKind, string | Readonly<Record<Outcome, string>>>> = {
  login: '10001',
  logout: '10002',
  ppskCreated: '40001',
  ppskDeleted: '40003',
  configuration: 'AUDIT',
  audit: 'AUDIT',
  authentication: { success: 'AUTH-ACCEPT', failure: 'AUTH-REJECT', unknown: 'AUTH-OTHER' },
  accountingStart: 'ACCT-START',
  accountingInterim: 'ACCT-INTERIM',
  accountingStop: 'ACCT-STOP',
  credential: 'CREDENTIAL',
  email: 'EMAIL',
  sms: 'SMS',
  gdprDeletion: 'GDPR-DELETE',
  gdprDownload: 'GDPR-DOWNLOAD',
  gdpr: 'GDPR',
  location: 'LOCATION',
  alert: 'ALERT',
  ruleAlert: 'RULE-ALERT',
  other: 'OTHER',
};

/** The code of an audit record; otherwise the id of its kind and outcome. */
export function eventId({ kind, outcome, recorded }: Facts): string {
  const id = EVENT_IDS[kind];
  return text(recorded['code'] ?? (typeof id === 'string' ? id : id[outcome]));
}

/** The beginning of a text, at most this many UTF-16 units, without half a character at its end. */
export function cut(value: string, maxLength: number): string {
  if (value.length <= maxLength) return value;
  return value.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '');
}

/** A fact, its key, how to read it (default: as text), and the label that CEF requires for a custom key. */
export interface Entry {
  readonly fact: string;
  readonly key: string;
  readonly reading?: Reading<string | number>;
  readonly label?: string;
  /** The longest value that receivers keep, in UTF-16 units, before it is escaped. */
  readonly maxLength?: number;
}

export interface Dialect {
  readonly entries: readonly Entry[];
  readonly omit: readonly string[];
  readonly keyOf: (fact: string) => string;
  readonly escape: (value: string) => string;
  readonly delimiter: string;
}

/** Prepares a dialect: keys and labels are assembled once instead of for each event. */
export function compileExtension(dialect: Dialect): (facts: Facts) => string {
  const { entries, omit, keyOf, escape, delimiter } = dialect;
  const known = new Set([...entries.map(({ fact }) => fact), ...omit]);
  const prepared = entries.map(({ fact, key, reading = text, label, maxLength = Infinity }) => ({
    fact,
    prefix: `${key}=`,
    reading,
    maxLength,
    suffix: label === undefined ? '' : `${delimiter}${key}Label=${escape(label)}`,
  }));
  const prefixes = new Map<string, string>();

  function prefixOf(fact: string): string {
    const prefix = prefixes.get(fact) ?? `${keyOf(fact)}=`;
    prefixes.set(fact, prefix);
    return prefix;
  }

  return ({ recorded, derived }) => {
    const pairs: string[] = [];
    for (const { fact, prefix, reading, maxLength, suffix } of prepared) {
      const value: Fact | undefined = derived[fact] ?? recorded[fact];
      const read = value === undefined ? undefined : reading(value);
      if (read !== undefined) pairs.push(prefix + escape(cut(String(read), maxLength)) + suffix);
    }
    for (const fact of Object.keys(recorded)) {
      const value = known.has(fact) ? undefined : recorded[fact];
      if (value !== undefined) pairs.push(prefixOf(fact) + escape(text(value)));
    }
    return pairs.join(delimiter);
  };
}

/** `acct_session_id` as `acctSessionId`. */
export const camelCase = (fact: string): string =>
  fact.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
