import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { SettingsError } from '../../src/errors.ts';
import { loadSettings } from '../../src/serve/load-settings.ts';

const directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-settings-'));
afterAll(() => rmSync(directory, { recursive: true }));

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    loadSettings(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

it('reports wrong destinations together with all other wrong settings', () => {
  const file = path.join(directory, 'settings.yaml');
  writeFileSync(
    file,
    'sources:\n  - name: Shop\n    webhook_secrets: [a-secret-of-the-tests]\ndestinations:\n  - name: siem\n    type: carrier-pigeon\n',
  );
  const problems = problemsOf({ PORT: 'eighty', FORWARD_TOKEN: 'x', XIQ_SINK_CONFIG: file });
  expect(problems).toEqual([
    expect.stringContaining('PORT must be'),
    expect.stringContaining('sources.0.name: must be'),
    expect.stringContaining('destination siem: type: '),
    expect.stringContaining('FORWARD_TOKEN'),
  ]);
});

it('gives the destinations of file and environment', () => {
  const { destinations } = loadSettings({ FORWARD_TO: 'stdout:' });
  expect(destinations.map(({ name, type }) => ({ name, type }))).toEqual([
    { name: 'default', type: 'stdout' },
  ]);
});
