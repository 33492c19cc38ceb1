import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { StoredSource } from '../../src/sources/stored-sources.ts';
import { SettingsError } from '../../src/lib/errors.ts';
import { createLiveSettings } from '../../src/serve/live-settings.ts';
import { loadSettings } from '../../src/serve/load-settings.ts';
import { SECRET } from '../support/program.ts';
import { useDirectory } from '../support/use-directory.ts';

const directory = useDirectory();

const logger = pino({ level: 'silent' });

/** Settings in force, and the environment that a reload reads. */
function start(given: Record<string, string>) {
  const base = { WEBHOOK_SECRET: SECRET, ...given };
  let env: Record<string, string> = base;
  const live = createLiveSettings({
    given: loadSettings(base),
    reread: async () => loadSettings(env),
    complete: async ({ sources }) => sources,
    logger,
  });
  return {
    live,
    reload(next: Record<string, string>) {
      env = { ...base, ...next };
      return live.reload();
    },
  };
}

const stored = (name: string, more: Partial<StoredSource> = {}): StoredSource => ({
  name,
  definition: { webhook_secrets: [{ env: 'WEBHOOK_SECRET' }] },
  oldSecretsUntil: null,
  isDisabled: false,
  ...more,
});

const namesOf = ({ live }: ReturnType<typeof start>) => live.config.sources.map(({ name }) => name);

describe('a reload', () => {
  it('puts retention, destinations and log level in force, and says what needs a restart', async () => {
    const started = start({ RETENTION_LOG_MONTHS: '12' });
    const { config } = started.live;
    const next = {
      RETENTION_LOG_MONTHS: '6',
      LOG_LEVEL: 'debug',
      PORT: '9999',
      DATABASE_URL: 'postgresql://other/db',
      // The same as the default.
      ADMIN_PORT: '8081',
      FORWARD_TO: 'stdout:',
    };
    const expected = {
      changed: ['RETENTION_LOG_MONTHS', 'FORWARD_TO', 'LOG_LEVEL', 'destination default added'],
      needs_restart: ['DATABASE_URL', 'PORT'],
      errors: [],
    };
    expect(await started.reload(next)).toEqual(expected);
    expect(config.retentionMonths.log).toBe(6);
    expect(config.logLevel).toBe('debug');
    expect(config.destinations.map(({ name }) => name)).toEqual(['default']);
    expect([config.port, config.databaseUrl]).toEqual([8080, undefined]);
    // What needs a restart still does; the rest is in force already.
    expect(await started.reload(next)).toEqual({ ...expected, changed: [] });
  });

  it('changes nothing if anything is wrong, and names all of it', async () => {
    const started = start({});
    let applied = 0;
    started.live.follow('test', () => void (applied += 1));
    const before = { ...started.live.config };
    const wrong = started.reload({ LOG_LEVEL: 'loud', RETENTION_LOG_MONTHS: '0', WEBHOOK_SECRET: 'x' });
    await expect(wrong).rejects.toThrow(/WEBHOOK_SECRET[^]*RETENTION_LOG_MONTHS[^]*LOG_LEVEL/);
    expect(started.live.config).toEqual(before);
    expect(applied).toBe(0);
  });

  it('reports what could not be put in force, and goes on with the other parts', async () => {
    const started = start({});
    started.live.follow('forwarding', async () => Promise.reject(new Error('no database')));
    let applied = 0;
    started.live.follow('other', () => void (applied += 1));
    expect((await started.reload({ LOG_LEVEL: 'warn' })).errors).toEqual(['forwarding: no database']);
    expect(applied).toBe(1);
  });

  it('reads the files again that sources of the database refer to', async () => {
    const file = path.join(directory, 'secret');
    await writeFile(file, 'first-secret-0123456789');
    const started = start({});
    const definition = { webhook_secrets: [{ file }] };
    started.live.useStored([stored('east', { definition })]);
    const secrets = () => started.live.config.sources.find(({ name }) => name === 'east')?.secrets;
    expect(secrets()).toEqual(['first-secret-0123456789']);
    await writeFile(file, 'second-secret-0123456789');
    expect((await started.reload({})).changed).toEqual(['source east changed']);
    expect(secrets()).toEqual(['second-secret-0123456789']);
  });
});

describe('the sources of the database', () => {
  it('join those of the settings, without the disabled ones', () => {
    const started = start({});
    expect(started.live.knowsStored()).toBe(false);
    started.live.useStored([stored('east'), stored('west', { isDisabled: true })]);
    expect(started.live.knowsStored()).toBe(true);
    expect(namesOf(started)).toEqual(['default', 'east']);
    // Subscriptions of the disabled one are not surplus.
    expect(started.live.names()).toEqual(['default', 'east', 'west']);
    started.live.useStored([]);
    expect(namesOf(started)).toEqual(['default']);
  });

  it('give way to those of the settings with their name, which a reload refuses', async () => {
    const started = start({});
    started.live.useStored([stored('default'), stored('east')]);
    expect(namesOf(started)).toEqual(['default', 'east']);
    const error = await started.reload({}).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SettingsError);
    expect(String(error)).toMatch(/source "default" is in the settings and in the database/);
    started.live.useStored([stored('default', { isDisabled: true }), stored('east')]);
    expect((await started.reload({})).errors).toEqual([]);
  });

  it('lose their old secrets at the time, without another look at the database', () => {
    const started = start({ OLD: 'old-secret-0123456789' });
    const definition = { webhook_secrets: [{ env: 'WEBHOOK_SECRET' }, { env: 'OLD' }] };
    let applied = 0;
    started.live.follow('ingest', () => void (applied += 1));
    const secrets = () => started.live.config.sources.at(-1)?.secrets.length;
    started.live.useStored([
      stored('east', { definition, oldSecretsUntil: new Date(Date.now() + 3_600_000) }),
    ]);
    started.live.refresh();
    expect([secrets(), applied]).toEqual([2, 1]);
    started.live.useStored([stored('east', { definition, oldSecretsUntil: new Date(Date.now() - 1) })]);
    expect([secrets(), applied]).toEqual([1, 2]);
  });
});

it('the destinations of the database join those of the settings, and give way to those of the same name', async () => {
  const started = start({ FORWARD_TO: 'stdout:' });
  const { live } = started;
  const definition = { type: 'syslog', transport: 'tcp', host: 'siem.example', port: 514, format: 'json' };
  const outputs = ['siem', 'default'].map((name) => ({ kind: 'destination', name, definition }) as const);
  const names = () => live.config.destinations.map(({ name, type }) => `${name} ${type}`);
  let applied = 0;
  live.follow('forwarding', () => void (applied += 1));
  expect(live.useOutputs(outputs)).toBe(true);
  expect(live.useOutputs([...outputs])).toBe(false);
  expect([names(), live.configuredDestinations().length, applied]).toEqual([
    ['default stdout', 'siem syslog'],
    1,
    1,
  ]);
  await expect(started.reload({})).rejects.toThrow(/"default"/);
  expect(live.useOutputs(outputs.slice(0, 1))).toBe(true);
  expect((await started.reload({ FORWARD_TO: '' })).changed).toEqual([
    'FORWARD_TO',
    'destination default removed',
  ]);
  expect([names(), live.destinationNames(), applied]).toEqual([['siem syslog'], ['siem'], 2]);
});
