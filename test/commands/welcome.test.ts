import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { welcome } from '../../src/commands/serve/welcome.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Role } from '../../src/config/roles.ts';
import type { Service } from '../../src/serve/start-service.ts';
import { SECRET } from '../support/program.ts';

const GENERATED = 'a-secret-that-was-generated';

/** The screen of a service of these settings. */
function screenOf(env: Record<string, string> = {}, service: Partial<Service> = {}, role: Role = 'all') {
  const config = loadConfig(env);
  const { sources } = config;
  const started: Service = {
    sources,
    secrets: { sources, secretFile: path.resolve('data/webhook-secret'), generated: GENERATED },
    port: 8080,
    adminPort: 9090,
    psqlArgument: undefined,
    drain: () => undefined,
    reload: async () => undefined,
    stop: async () => undefined,
    ...service,
  };
  return stripVTControlCharacters(welcome(started, config, role));
}

const commandsOn = (screen: string) =>
  screen
    .replaceAll(/ \\\n +/g, ' ')
    .split('\n')
    .flatMap((line) => (line.startsWith('  ') ? [line.trim()] : []));

it('shows the generated secret, a delivery to try, the console and queries', () => {
  const [secret, sample, target, admin, search, query, ...more] = commandsOn(screenOf());
  expect(secret).toBe(GENERATED);
  expect(sample).toMatch(/^curl .*Bearer \$\(cat data\/webhook-secret\)/);
  expect(target).toMatch(/ http:\/\/localhost:8080\/ingest\/default\/AUDIT_LOG_ALL$/);
  expect(admin).toBe('http://localhost:9090');
  expect(search).toBe('bin/xiq-sink events search');
  expect(query).toMatch(/^bin\/xiq-sink sql "select /);
  expect(more).toEqual([]);
});

it('names no secret of the settings, and where to put it', () => {
  const { sources } = loadConfig({ WEBHOOK_SECRET: SECRET });
  const secrets = { sources, secretFile: undefined, generated: undefined };
  const screen = screenOf({ WEBHOOK_SECRET: SECRET }, { secrets });
  expect(screen).toContain('replace YOUR_SECRET');
  expect(commandsOn(screen)[0]).toContain('Bearer YOUR_SECRET');
  expect(screen).not.toContain(SECRET);
});

it('names the data directory where it is not the usual one, on lines that fit', () => {
  const screen = screenOf({ DATA_DIR: '/srv/events of us' });
  const queries = commandsOn(screen).filter((command) => command.includes('bin/xiq-sink'));
  expect(queries).toHaveLength(2);
  for (const query of queries) expect(query).toMatch(/^DATA_DIR='\/srv\/events of us' bin\/xiq-sink /);
  expect(screen.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

it('opens the embedded database with psql, without its password', () => {
  const psqlArgument = `postgresql://xiq_reader@127.0.0.1:5433/xiq?passfile=${path.resolve('data/pass')}`;
  expect(commandsOn(screenOf({}, { psqlArgument })).at(-1)).toBe(
    'PGPASSFILE=data/pass psql postgresql://xiq_reader@127.0.0.1:5433/xiq',
  );
});

it.each([
  [{ HOST: '0.0.0.0' }, 'Listening on http://localhost:8080'],
  [{ HOST: '::' }, 'Listening on http://localhost:8080'],
  [{ HOST: '2001:db8::1' }, 'Listening on http://[2001:db8::1]:8080'],
  [
    { TLS_CERT_FILE: '/c', TLS_KEY_FILE: '/k', ADMIN_HOST: '192.0.2.1', ADMIN_TOKEN: SECRET },
    'https://192.0.2.1:9090',
  ],
])('with %j, says %s', (env, address) => {
  expect(screenOf(env)).toContain(address);
});

it.each([
  ['worker', 'stores deliveries from the queue. Health: http://localhost:8080/readyz, metrics: '],
  ['console', 'serves the console. Health: http://localhost:8080/readyz, console: '],
] as const)('is one line for the role %s, which accepts nothing', (role, line) => {
  expect(screenOf({}, { secrets: undefined }, role)).toBe(`xiq-sink ${line}http://localhost:9090`);
});

it('has no console where the role serves none', () => {
  expect(screenOf({}, {}, 'ingest')).not.toContain('console');
});
