import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { loadSettings } from '../../src/serve/load-settings.ts';
import { problemsOf } from '../config/problems-of.ts';
import { useDirectory } from '../support/use-directory.ts';

const directory = useDirectory();

it('reports wrong destinations together with all other wrong settings', () => {
  const file = path.join(directory, 'settings.yaml');
  writeFileSync(
    file,
    'sources:\n  - name: Shop\n    webhook_secrets: [a-secret-of-the-tests]\ndestinations:\n  - name: siem\n    type: carrier-pigeon\n',
  );
  const problems = problemsOf({ PORT: 'eighty', FORWARD_TOKEN: 'x', XIQ_SINK_CONFIG: file }, loadSettings);
  expect(problems).toEqual([
    expect.stringContaining('PORT must be'),
    expect.stringContaining('sources.0.name: must be'),
    expect.stringContaining('destination siem: type: '),
    expect.stringContaining('FORWARD_TOKEN'),
  ]);
});
