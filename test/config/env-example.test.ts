import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { readEnvironment, SETTING_NAMES } from '../../src/config/environment.ts';

const EXAMPLE = readFileSync(path.resolve(import.meta.dirname, '../../.env.example'), 'utf8');

/** The lines that set something once their `#` is removed. */
const settings = [...EXAMPLE.matchAll(/^#([A-Z\d_]+)=(.*)$/gm)].map(([, name = '', value = '']) => ({
  name,
  value,
}));

/** Examples of settings that have no default value: the comment above says so. */
const WITHOUT_DEFAULT = new Set(['DATABASE_URL', 'MIGRATION_DATABASE_URL', 'REDIS_URL', 'MESSAGE_TYPES']);

it('contains every setting once, and nothing else', () => {
  expect(settings.map(({ name }) => name).toSorted()).toEqual([...SETTING_NAMES].toSorted());
});

it('shows the default of each setting that has one', () => {
  const defaults = settings.filter(({ name }) => !WITHOUT_DEFAULT.has(name));
  const env = Object.fromEntries(defaults.map(({ name, value }) => [name, value]));
  // Without an endpoint there are no traces, and so no name of the service and no share.
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318' };
  expect(loadConfig({ ...env, ...endpoint })).toEqual(loadConfig(endpoint));
  const shown = Object.keys(env).filter((name) => env[name] !== '');
  expect(shown.toSorted()).toEqual(Object.keys(readEnvironment({}, []) ?? {}).toSorted());
});

it('shows examples that are valid', () => {
  for (const { name, value } of settings.filter((setting) => WITHOUT_DEFAULT.has(setting.name))) {
    const needed = name === 'MIGRATION_DATABASE_URL' ? { DATABASE_URL: 'postgresql://host/xiq_sink' } : {};
    expect(() => loadConfig({ ...needed, [name]: value })).not.toThrow();
  }
});
