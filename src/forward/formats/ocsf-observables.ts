import { memberOf, type Document } from './document.ts';
import { UNKNOWN } from './ocsf-classes.ts';

/** A value that events can be searched by, and the attribute that has it. */
interface Observable {
  readonly name: string;
  readonly type_id: number;
  readonly type: string;
  readonly value: string;
}

/** The observable types of OCSF 1.5.0 for the attributes that the mappings use. */
const TYPES = [
  { type_id: 1, type: 'Hostname', attribute: /(?:^|\.)hostname$/ },
  { type_id: 2, type: 'IP Address', attribute: /(?:^|\.)ip$/ },
  { type_id: 3, type: 'MAC Address', attribute: /(?:^|\.)mac$/ },
  { type_id: 4, type: 'User Name', attribute: /(?:^|\.)user\.name$/ },
  { type_id: 5, type: 'Email Address', attribute: /(?:\.email_addr|^email\.to)$/ },
];

/** Prepares the observables of events whose mappings have these members. */
export function compileObservables(members: readonly string[]): (document: Document) => Observable[] {
  const observed = [...new Set(members)].flatMap((name) =>
    TYPES.filter(({ attribute }) => attribute.test(name)).map(({ type_id, type }) => ({
      path: name.split('.'),
      name,
      type_id,
      type,
    })),
  );
  return (document) => {
    const observables: Observable[] = [];
    for (const { path, name, type_id, type } of observed) {
      const found = memberOf(document, path);
      for (const value of Array.isArray(found) ? found : [found]) {
        if (typeof value === 'string' && value !== UNKNOWN) observables.push({ name, type_id, type, value });
      }
    }
    return observables;
  };
}
