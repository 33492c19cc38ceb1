import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '../../src/config/config.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

const Service = z.object({
  image: z.string(),
  build: z.string().optional(),
  user: z.string().optional(),
  privileged: z.boolean().optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  tmpfs: z.array(z.string()).optional(),
  ports: z.array(z.string()).optional(),
  mem_limit: z.string().optional(),
  pids_limit: z.number().optional(),
  command: z.array(z.string()).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
  env_file: z.string().optional(),
  environment: z.record(z.string(), z.string()).optional(),
});
type Service = z.infer<typeof Service>;

const compose: unknown = parse(read('docker-compose.yml'), { merge: true });
const { services } = z.object({ services: z.record(z.string(), Service) }).parse(compose);
const ours = Object.entries(services).filter(([, { build }]) => build !== undefined);

const CLOUD = 'CLOUD_API_TOKEN CLOUD_PASSWORD';

/** The secrets of the environment that each service gets, in alphabetical order. */
const SECRETS_OF = {
  postgres: 'POSTGRES_PASSWORD',
  redis: 'REDIS_PASSWORD',
  migrate: 'DATABASE_PASSWORD POSTGRES_PASSWORD READER_PASSWORD',
  ingest: 'DATABASE_PASSWORD METRICS_TOKEN REDIS_PASSWORD SECRETS_KEY WEBHOOK_SECRET',
  worker: `ARCHIVE_S3_SECRET ${CLOUD} DATABASE_PASSWORD FORWARD_TOKEN METRICS_TOKEN REDIS_PASSWORD SECRETS_KEY WEBHOOK_SECRET`,
  forward: 'DATABASE_PASSWORD FORWARD_TOKEN METRICS_TOKEN REDIS_PASSWORD SECRETS_KEY',
  console: `ADMIN_TOKEN ARCHIVE_S3_SECRET ${CLOUD} DATABASE_PASSWORD FORWARD_TOKEN OIDC_CLIENT_SECRET READER_PASSWORD REDIS_PASSWORD SECRETS_KEY WEBHOOK_SECRET`,
  caddy: '',
};

const isSecret = (name: string) => /(?:PASSWORD|SECRET|TOKEN|SECRETS_KEY)$/.test(name);
const namesIn = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, name = '']) => name).filter(isSecret);

/** Every secret that .env may contain: the settings, and what the Compose file itself asks for. */
const SECRETS = [
  ...namesIn(read('.env.example'), /^#?([A-Z\d_]+)=/gm),
  ...namesIn(read('docker-compose.yml'), /\$\{(\w+)/g),
];

/** The secrets that a service is given: by its environment, its command, or .env where the environment has no other value. */
const secretsOf = (service: Service | undefined) => {
  const { env_file, environment = {} } = service ?? {};
  const fromFile = env_file === undefined ? [] : SECRETS.filter((name) => environment[name] === undefined);
  const names = new Set([...namesIn(JSON.stringify(service), /\$\{(\w+)/g), ...fromFile]);
  return [...names].sort((one, other) => one.localeCompare(other));
};

/** The last instruction of a kind: the one that counts. */
const instruction = (name: string) =>
  read('Dockerfile')
    .split('\n')
    .findLast((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1);

describe('the container', () => {
  it('runs as an unprivileged user', () => {
    expect(instruction('USER')).toBe('node');
    for (const [, { user, privileged }] of ours) expect([user, privileged]).toEqual([undefined, undefined]);
    expect([services['postgres']?.user, services['redis']?.user]).toEqual(['postgres', 'redis']);
  });

  it.each(Object.keys(SECRETS_OF))(
    'has a read-only root, no capabilities, and no way to gain any: %s',
    (name) => {
      expect(services[name]).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      expect(services[name]?.tmpfs).toContain('/tmp');
    },
  );

  it.each(Object.entries(services))('has limits of memory and processes: %s', (_name, service) => {
    expect(service.mem_limit).toMatch(/^\d+[mg]$|^\$\{\w+:-\d+[mg]\}$/);
    expect(service.pids_limit).toBeGreaterThan(0);
  });

  it.each(Object.entries(SECRETS_OF))('gets only the secrets of its role: %s', (name, secrets) => {
    expect(Object.keys(services)).toEqual(Object.keys(SECRETS_OF));
    expect(secretsOf(services[name]).join(' ')).toBe(secrets);
  });

  it('passes every setting on, but those that the Compose file decides', () => {
    const decided = Object.entries(services).flatMap(([name, { env_file, environment = {} }]) =>
      env_file === '.env' ? [[name, Object.keys(environment)] as const] : [],
    );
    expect(decided.map(([name]) => name)).toEqual(['ingest', 'worker', 'forward', 'console']);
    const everywhere = decided
      .map(([, names]) => new Set(names))
      .reduce((one, other) => one.intersection(other));
    const settings = [...read('.env.example').matchAll(/^#?([A-Z\d_]+)=/gm)].map(([, name = '']) => name);
    expect(settings.filter((name) => everywhere.has(name))).toEqual(
      'DATABASE_URL MIGRATION_DATABASE_URL READER_DATABASE_URL BOOTSTRAP_DATABASE_URL REDIS_URL DATA_DIR LOG_KEY_FILE \
ERASURE_KEY_FILE HOST PORT ADMIN_HOST ADMIN_PORT ADMIN_TOKEN WEBHOOK_SECRET ARCHIVE_DIR'.split(' '),
    );
  });

  it.each(['ingest', 'worker', 'forward', 'console'])('has settings without a contradiction: %s', (name) => {
    const file = {
      ...Object.fromEntries(SECRETS.map((secret) => [secret, 'a'.repeat(64)])),
      SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
      METRICS_HOST: '0.0.0.0',
      POSTGRES_MEMORY: '4g',
      REDIS_MEMORY: '2g',
      PUBLIC_URL: 'https://sink.example',
      CLOUD_API_URL: 'https://api.example',
      CLOUD_USERNAME: 'someone',
      CLOUD_API_TOKEN: '',
      SUBSCRIBE: 'auto',
      FORWARD_TO: 'https://siem.example',
      OIDC_ISSUER: 'https://login.example',
      OIDC_CLIENT_ID: 'xiq-sink',
      OIDC_ROLE_CLAIM: 'groups',
      OIDC_ROLES: 'netops=operator',
      CONSOLE_URL: 'https://console.example',
      RETENTION_LOCATION_MONTHS: '13',
      ARCHIVE_S3: 's3://archive',
      ARCHIVE_S3_KEY_ID: 'id',
    };
    const given = Object.entries(services[name]?.environment ?? {}).map(
      ([setting, value]): [string, string] => [
        setting,
        value.replace(
          /\$\{(\w+)[^}]*\}/g,
          (_all, variable: string) => new Map(Object.entries(file)).get(variable) ?? '',
        ),
      ],
    );
    const config = loadConfig({ ...file, ...Object.fromEntries(given) });
    expect(config).toMatchObject({ port: 8080, retentionMonths: { location: 13 }, dataDir: '/data' });
  });

  it('shares the key that recognizes erased people, and the archive, between those that need them', () => {
    const { services: raw } = z
      .object({ services: z.record(z.string(), z.object({ volumes: z.array(z.string()) }).partial()) })
      .parse(compose);
    const sharing = Object.entries(raw).filter(([, { volumes = [] }]) => volumes.includes('keys:/keys'));
    expect(sharing.map(([name]) => name)).toEqual(['worker', 'console']);
    const archiving = Object.entries(raw).filter(([, { volumes = [] }]) =>
      volumes.includes('archive:/archive'),
    );
    expect(archiving.map(([name]) => name)).toEqual(['worker', 'console']);
    expect(services['worker']?.environment?.['ARCHIVE_DIR']).toBe('/archive');
    expect(services['worker']?.environment?.['ERASURE_KEY_FILE']).toBe('/keys/erasure-key');
  });

  it('uses the superuser of the database in one service, which ends before the others start', () => {
    const superusers = Object.entries(services).filter(([, { environment }]) =>
      JSON.stringify(environment ?? {}).includes('//postgres:'),
    );
    expect(superusers.map(([name]) => name)).toEqual(['migrate']);
    for (const name of ['ingest', 'worker', 'forward', 'console']) {
      expect(services[name]?.environment?.['DATABASE_URL']).toMatch(/^postgresql:\/\/xiq_sink:/);
      expect(services[name]?.depends_on).toMatchObject({
        migrate: { condition: 'service_completed_successfully' },
      });
    }
  });

  it('gives Redis a password, which its clients have, and 60 % of its memory for data', () => {
    const { command = [], environment = {} } = services['redis'] ?? {};
    expect(environment['REDISCLI_AUTH']).toMatch(/^\$\{REDIS_PASSWORD:\?/);
    const script = command
      .at(-1)
      ?.replaceAll('$$', '$')
      .replace('exec redis-server', 'echo')
      .replace(/cat \S+ \S+/, 'echo 1000000000');
    const started = execFileSync('sh', ['-c', script ?? ''], { env: { REDISCLI_AUTH: 'a password' } });
    expect(String(started)).toContain('--maxmemory 600000000 --requirepass a password');
    for (const name of ['ingest', 'worker', 'forward', 'console']) {
      expect(services[name]?.environment?.['REDIS_URL']).toMatch(
        /^redis:\/\/:\$\{REDIS_PASSWORD:\?[^}]*\}@redis:6379$/,
      );
    }
  });

  it('publishes deliveries to the network, the console to its own machine, and nothing else', () => {
    const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => [name, port]),
    );
    expect(published).toEqual([
      ['ingest', '${PORT:-8080}:8080'],
      ['console', '127.0.0.1:${ADMIN_PORT:-8081}:8081'],
      // Only with --profile https.
      ['caddy', '80:80'],
      ['caddy', '443:443'],
    ]);
    expect(services['console']?.environment).toMatchObject({ ADMIN_HOST: '0.0.0.0' });
    expect(services['console']?.environment?.['ADMIN_TOKEN']).toMatch(/^\$\{ADMIN_TOKEN:\?/);
    for (const name of ['ingest', 'worker', 'forward']) {
      expect(services[name]?.environment).toMatchObject({
        ADMIN_HOST: '${METRICS_HOST:-127.0.0.1}',
        ADMIN_TOKEN: '${METRICS_TOKEN:-}',
      });
    }
  });

  it('and its neighbours name the version of their image', () => {
    const others = Object.values(services).filter(({ build }) => build === undefined);
    const images = [instruction('FROM'), ...others.map(({ image }) => image)];
    expect(images.length).toBeGreaterThan(2);
    for (const image of images) expect(image).toMatch(/^[a-z/]+:\d/);
  });

  it('is given its secrets by the environment, none stands in a file', () => {
    for (const file of ['docker-compose.yml', 'Dockerfile']) {
      for (const line of read(file).split('\n')) {
        if (line.trim().startsWith('#')) continue;
        expect(line).not.toMatch(/^\s*(?:ENV )?\w*(?:SECRET|PASSWORD|TOKEN)\w*[:=]\s*(?!'')[^\s$]/);
      }
    }
  });
});

describe('dependencies', () => {
  const Lock = z.object({
    packages: z.record(
      z.string(),
      z.object({ version: z.string().optional(), integrity: z.string().optional() }),
    ),
  });

  it('are pinned by version and content in package-lock.json, which is in git', () => {
    const { packages } = Lock.parse(JSON.parse(read('package-lock.json')));
    const installed = Object.entries(packages).filter(([name]) => name !== '');
    expect(installed.length).toBeGreaterThan(100);
    for (const [, { version, integrity }] of installed) {
      expect(version).toMatch(/^\d+\.\d+\.\d+/);
      expect(integrity).toMatch(/^sha512-/);
    }
    const tracked = execFileSync('git', ['ls-files', 'package-lock.json'], { cwd: ROOT, encoding: 'utf8' });
    expect(tracked.trim()).toBe('package-lock.json');
  });
});
