import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { confFiles } from './splunk/conf.ts';

/** All generated files below `integrations`, by path. */
export const integrationFiles = (): ReadonlyMap<string, string> =>
  new Map(Object.entries(confFiles()).map(([file, text]) => [`splunk/TA-xiq-sink/${file}`, text]));

if (import.meta.main) {
  for (const [file, text] of integrationFiles()) writeFileSync(path.join(import.meta.dirname, file), text);
}
