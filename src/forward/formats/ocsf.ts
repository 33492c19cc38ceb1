import type { StoredEvent } from '../../events/stored-event.ts';
import { compilePlan, memberOf, put, type Document } from './document.ts';
import { factsOf, PRODUCT, VENDOR, type Facts } from './facts.ts';
import { classConstants, UNKNOWN } from './ocsf-classes.ts';
import { OCSF_ROWS } from './ocsf-rows.ts';
import { OCSF_COMMON } from './ocsf-mappings.ts';
import { memoizeByKind } from '../../events/record-kind.ts';

const planOf = memoizeByKind((kind) => {
  const row = OCSF_ROWS[kind];
  const build = compilePlan({
    constants: {
      ...classConstants(row),
      'metadata.profiles': ['cloud'],
      'metadata.product.vendor_name': VENDOR,
      'metadata.product.name': PRODUCT,
      'cloud.provider': VENDOR,
      ...row.constants,
    },
    mappings: [...OCSF_COMMON, ...row.mappings],
    rest: 'unmapped',
  });
  const observe = compileObservables([...OCSF_COMMON, ...row.mappings].map(([, member]) => member));
  const fallback = row.fallback && {
    unless: row.fallback.unless.map((member) => member.split('.')),
    path: row.fallback.member.split('.'),
  };
  return (facts: Facts): Document => {
    const document = build(facts);
    if (fallback?.unless.every((path) => memberOf(document, path) === undefined) === true) {
      put(document, fallback.path, UNKNOWN);
    }
    const observables = observe(document);
    if (observables.length > 0) document['observables'] = observables;
    return document;
  };
});

/** The releases that have all that is written as 1.5.0 has it: the classes, attributes, values and what is required. */
export const OCSF_VERSIONS = ['1.5.0', '1.6.0', '1.7.0', '1.8.0'] as const;

export type OcsfVersion = (typeof OCSF_VERSIONS)[number];

/**
 * OCSF of a release. Members that a class requires are present even if the record lacks them ("Unknown", type 0). Facts
 * without an attribute in the class are in `unmapped`.
 */
export function formatOcsf(event: StoredEvent, version: OcsfVersion = '1.5.0'): string {
  const facts = factsOf(event);
  const document = planOf(facts.kind)(facts);
  put(document, ['metadata', 'version'], version);
  return JSON.stringify(document);
}

/** The observable types of OCSF 1.5.0 for the attributes that the mappings use. */
const TYPES = [
  { type_id: 1, type: 'Hostname', attribute: /(?:^|\.)hostname$/ },
  { type_id: 2, type: 'IP Address', attribute: /(?:^|\.)ip$/ },
  { type_id: 3, type: 'MAC Address', attribute: /(?:^|\.)mac$/ },
  { type_id: 4, type: 'User Name', attribute: /(?:^|\.)user\.name$/ },
  { type_id: 5, type: 'Email Address', attribute: /(?:\.email_addr|^email\.to)$/ },
];

function compileObservables(members: readonly string[]) {
  const observed = [...new Set(members)].flatMap((name) =>
    TYPES.filter(({ attribute }) => attribute.test(name)).map(({ type_id, type }) => ({
      path: name.split('.'),
      name,
      type_id,
      type,
    })),
  );
  return (document: Document) => {
    const observables: { name: string; type_id: number; type: string; value: string }[] = [];
    for (const { path, name, type_id, type } of observed) {
      const found = memberOf(document, path);
      for (const value of Array.isArray(found) ? found : [found]) {
        if (typeof value === 'string' && value !== UNKNOWN) observables.push({ name, type_id, type, value });
      }
    }
    return observables;
  };
}
