import { stringify } from 'yaml';
import type { AddedOutput } from '../store/destinations/added-outputs.ts';
import { mapSecrets } from './added-destinations.ts';

/**
 * What was added to the database as YAML for the settings file, which replaces it there. Each secret is a reference to a
 * variable of the environment, named after the destination and the option. Empty if nothing was added.
 */
export function exportOutputs(outputs: readonly AddedOutput[]): string {
  const variables = new Set<string>();
  // `a-b` and `a_b` have the same letters.
  const newVariable = (path: readonly string[]) => {
    const wanted = variableOf(path);
    let name = wanted;
    for (let number = 2; variables.has(name); number += 1) name = `${wanted}_${number}`;
    variables.add(name);
    return name;
  };
  const of = (wanted: AddedOutput['kind']) => outputs.filter(({ kind }) => kind === wanted);
  const destinations = of('destination').map(({ name, definition }) => ({
    name,
    type: definition['type'],
    ...mapSecrets(definition, (_secret, path) => ({ env: newVariable([name, ...path]) })),
  }));
  const alerts = of('rule').map(({ definition }) => definition);
  if (outputs.length === 0) return '';
  return stringify({
    ...(destinations.length > 0 && { destinations }),
    ...(alerts.length > 0 && { alerts }),
  });
}

const variableOf = (path: readonly string[]) =>
  path
    .join('_')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '_');
