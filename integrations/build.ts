import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { indexTemplate, ingestPipeline } from './elastic/elastic.ts';
import { grafanaDashboard } from './grafana/grafana.ts';
import { sigmaFiles } from './sigma/sigma.ts';
import { confFiles } from './splunk/conf.ts';

/** All generated files below `integrations`, by path. */
export const integrationFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ...Object.entries(confFiles()).map(([file, text]) => [`splunk/TA-xiq-sink/${file}`, text] as const),
    ...Object.entries(sigmaFiles()).map(([file, text]) => [`sigma/${file}`, text] as const),
    ['grafana/dashboard.json', toText(grafanaDashboard())],
    ['elastic/index-template.json', toText(indexTemplate())],
    ['elastic/ingest-pipeline.json', toText(ingestPipeline())],
  ]);

const toText = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

if (import.meta.main) {
  for (const [file, text] of integrationFiles()) writeFileSync(path.join(import.meta.dirname, file), text);
}
