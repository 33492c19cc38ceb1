import type { Facts } from './facts.ts';
import { text, unmappedReading, type Fact, type Reading } from './readings.ts';

export interface Document {
  [member: string]: unknown;
}

/** A fact, the member that it goes to (`source.ip`), and how to read it (default: as text). */
export type Mapping = readonly [fact: string, member: string, reading?: Reading];

export interface Plan {
  /** By member. A fact of the record replaces a constant. */
  readonly constants: Readonly<Record<string, unknown>>;
  readonly mappings: readonly Mapping[];
  /** The member that contains all facts without a mapping, under their own names. */
  readonly rest: string;
  readonly omit?: readonly string[];
}

/** Prepares a plan: members are split once instead of for each event. */
export function compilePlan({ constants, mappings, rest, omit = [] }: Plan): (facts: Facts) => Document {
  const fixed = Object.entries(constants).map(([member, value]) => [member.split('.'), value] as const);
  const mapped = mappings.map(([fact, member, reading = text]) => ({
    fact,
    path: member.split('.'),
    reading,
  }));
  const known = new Set([...mappings.map(([fact]) => fact), ...omit]);

  return ({ recorded, derived }) => {
    const document: Document = {};
    for (const [path, value] of fixed) put(document, path, value);
    for (const { fact, path, reading } of mapped) {
      const value: Fact | undefined = derived[fact] ?? recorded[fact];
      if (value !== undefined) put(document, path, reading(value));
    }
    for (const fact of Object.keys(recorded)) {
      const value = known.has(fact) ? undefined : recorded[fact];
      if (value !== undefined) put(document, [rest, fact], unmappedReading(fact)(value));
    }
    return document;
  };
}

/** Sets a member by its path. An undefined value sets nothing. */
export function put(document: Document, path: readonly string[], value: unknown): void {
  const [first = '', second, third] = path;
  if (value === undefined) return;
  if (second === undefined) document[first] = value;
  else if (third === undefined) grow(document, first)[second] = value;
  else put(grow(document, first), path.slice(1), value);
}

/** A member by its path; undefined if the document lacks it. */
export function memberOf(document: Document, path: readonly string[]): unknown {
  let found: unknown = document;
  for (const part of path) found = isDocument(found) ? found[part] : undefined;
  return found;
}

function grow(branch: Document, member: string): Document {
  const present = branch[member];
  if (isDocument(present)) return present;
  const grown: Document = {};
  branch[member] = grown;
  return grown;
}

const isDocument = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
