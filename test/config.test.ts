import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { loadConfig, maskConfig } from '../src/config.ts';
import { CLOUD_TYPES } from '../src/domain.ts';
import { UsageError } from '../src/errors.ts';

const SECRET = 'kPq7-first-secret-0001';
const OTHER = 'kPq7-other-secret-0002';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-config-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** A source of these secrets, without an API, that subscribes to everything. */
const source = (name: string, ...secrets: string[]) => ({
  name,
  secrets,
  cloud: undefined,
  messageTypes: CLOUD_TYPES,
});

/** Writes a settings file and gives its path. */
function settingsFile(text: string): string {
  const file = path.join(directory, 'settings.yaml');
  writeFileSync(file, text);
  return file;
}

/** The lines of the error, one a problem. */
function problemsOf(env: Record<string, string>): string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const [, ...problems] = error.message.split('\n');
    return problems.map((problem) => problem.trim());
  }
  return [];
}

describe('defaults', () => {
  it('need no setting at all', () => {
    expect(loadConfig({})).toEqual({
      databaseUrl: undefined,
      redisUrl: undefined,
      queuePrefix: 'bull',
      dataDir: path.resolve('data'),
      erasureKeyFile: path.resolve('data/erasure-key'),
      erasesAfterGdprLog: false,
      anchors: { file: undefined, url: undefined, timestampUrl: undefined, witnesses: [] },
      host: '0.0.0.0',
      port: 8080,
      tls: undefined,
      admin: { host: '127.0.0.1', port: 8081, token: undefined },
      sources: [source('default')],
      messageTypes: CLOUD_TYPES,
      secretsKeys: [],
      publicUrl: undefined,
      subscribe: 'report',
      history: { sweeps: true, toleranceMs: 2_000 },
      inventory: 'auto',
      durability: 'normal',
      strict: { keepMs: 3_600_000, replicas: 0 },
      databaseDirectUrl: undefined,
      spool: { maxBytes: 10 * 1024 ** 3, minFreeBytes: 512 * 1024 ** 2 },
      maxBodyBytes: 10 * 1024 * 1024,
      maxBytesInFlight: 48 * 1024 * 1024,
      trustedProxies: undefined,
      storesOthers: false,
      retentionMonths: { audit: undefined, location: undefined, log: undefined },
      quarantine: { maxBytes: 1024 ** 3, months: undefined },
      forwarding: { destinations: [], redaction: undefined, forwardTo: undefined, forwardToken: undefined },
      traces: undefined,
      drainSeconds: 0,
      migrates: true,
      logLevel: 'info',
    });
  });

  it('stand for a setting that is set to nothing, and other variables are ignored', () => {
    const nothing = Object.fromEntries(
      ['DATABASE_URL', 'REDIS_URL', 'DATA_DIR', 'HOST', 'PORT', 'TLS_CERT_FILE', 'TLS_KEY_FILE']
        .concat(['WEBHOOK_SECRET', 'MAX_BODY_BYTES', 'RETENTION_LOG_MONTHS', 'LOG_LEVEL', 'XIQ_SINK_CONFIG'])
        .map((name) => [name, '']),
    );
    expect(loadConfig({ ...nothing, PATH: '/bin', UNSET: undefined })).toEqual(loadConfig({}));
  });
});

describe('each setting', () => {
  it.each([
    [{ DATABASE_URL: 'postgres://u:p@db/x' }, { databaseUrl: 'postgres://u:p@db/x' }],
    [
      { DATABASE_URL: 'postgresql://db:5433/x?sslmode=require' },
      { databaseUrl: 'postgresql://db:5433/x?sslmode=require' },
    ],
    [{ REDIS_URL: 'redis://cache:6379/1' }, { redisUrl: 'redis://cache:6379/1' }],
    [{ REDIS_URL: 'rediss://:p@cache' }, { redisUrl: 'rediss://:p@cache' }],
    [
      { DATA_DIR: '/var/lib/x/../xiq' },
      { dataDir: '/var/lib/xiq', erasureKeyFile: '/var/lib/xiq/erasure-key' },
    ],
    [{ LOG_KEY_FILE: '/keys/log' }, { logKeyFile: '/keys/log' }],
    [
      { ERASURE_KEY_FILE: '/keys/e', GDPR_ERASURE: 'auto' },
      { erasureKeyFile: '/keys/e', erasesAfterGdprLog: true },
    ],
    [
      { ANCHOR_FILE: '/mnt/a', TIMESTAMP_URL: 'http://tsa.example' },
      { anchors: { file: '/mnt/a', url: undefined, timestampUrl: 'http://tsa.example', witnesses: [] } },
    ],
    [
      { WITNESSES: `w+0a1b2c3d+${'A'.repeat(44)} https://w.example/a/` },
      {
        anchors: {
          file: undefined,
          url: undefined,
          timestampUrl: undefined,
          witnesses: [{ publicKey: `w+0a1b2c3d+${'A'.repeat(44)}`, url: 'https://w.example/a' }],
        },
      },
    ],
    [
      { DATA_DIR: 'here' },
      { dataDir: path.resolve('here'), erasureKeyFile: path.resolve('here/erasure-key') },
    ],
    [{ HOST: '::1' }, { host: '::1' }],
    [{ PORT: '0' }, { port: 0 }],
    [{ PORT: '65535' }, { port: 65_535 }],
    [{ TLS_CERT_FILE: 'c.pem', TLS_KEY_FILE: 'k.pem' }, { tls: { certFile: 'c.pem', keyFile: 'k.pem' } }],
    [{ WEBHOOK_SECRET: SECRET }, { sources: [source('default', SECRET)] }],
    [{ WEBHOOK_SECRET: ` ${SECRET} , ${OTHER}` }, { sources: [source('default', SECRET, OTHER)] }],
    [{ WEBHOOK_SECRET: 'exactly16~chars!' }, { sources: [source('default', 'exactly16~chars!')] }],
    [{ MAX_BODY_BYTES: '1024' }, { maxBodyBytes: 1024 }],
    [
      { MAX_BODY_BYTES: String(64 * 1024 * 1024) },
      { maxBodyBytes: 64 * 1024 * 1024, maxBytesInFlight: 64 * 1024 * 1024 },
    ],
    [{ DURABILITY: 'strict' }, { durability: 'strict' }],
    [{ STRICT_KEEP_MINUTES: '5', STRICT_REPLICAS: '2' }, { strict: { keepMs: 300_000, replicas: 2 } }],
    [
      { SPOOL_MAX_BYTES: '1048576', SPOOL_MIN_FREE_BYTES: '0' },
      { spool: { maxBytes: 1_048_576, minFreeBytes: 0 } },
    ],
    [{ MAX_BYTES_IN_FLIGHT: '10485760' }, { maxBytesInFlight: 10_485_760 }],
    [{ MAX_BYTES_IN_FLIGHT: '4294967296' }, { maxBytesInFlight: 4_294_967_296 }],
    [{ TRUST_PROXY: '1' }, { trustedProxies: 1, drainSeconds: 5 }],
    [{ TRUST_PROXY: '16' }, { trustedProxies: 16, drainSeconds: 5 }],
    [{ TRUST_PROXY: '10.0.0.1' }, { trustedProxies: ['10.0.0.1'], drainSeconds: 5 }],
    [
      { TRUST_PROXY: '10.0.0.0/8, 2001:db8::1,2001:db8::/32,loopback,linklocal,uniquelocal' },
      {
        drainSeconds: 5,
        trustedProxies: [
          '10.0.0.0/8',
          '2001:db8::1',
          '2001:db8::/32',
          'loopback',
          'linklocal',
          'uniquelocal',
        ],
      },
    ],
    [
      { RETENTION_AUDIT_MONTHS: '1200' },
      { retentionMonths: { audit: 1200, location: undefined, log: undefined } },
    ],
    [
      { RETENTION_LOCATION_MONTHS: '1' },
      { retentionMonths: { audit: undefined, location: 1, log: undefined } },
    ],
    [
      { RETENTION_DELIVERIES_MONTHS: '24' },
      { retentionMonths: { audit: undefined, location: undefined, log: undefined, deliveries: 24 } },
    ],
    [{ RETENTION_LOG_MONTHS: '13' }, { retentionMonths: { audit: undefined, location: undefined, log: 13 } }],
    [{ RETENTION_ALERTS_MONTHS: '14' }, { retentionMonths: { alerts: 14 } }],
    [{ OTHER_MESSAGE_TYPES: 'store' }, { storesOthers: true }],
    [
      { QUARANTINE_MAX_BYTES: '1048576', RETENTION_QUARANTINE_MONTHS: '3' },
      { quarantine: { maxBytes: 1_048_576, months: 3 } },
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318/', OTEL_TRACES_SAMPLER_ARG: '0.05' },
      { traces: { endpoint: 'http://otel:4318', serviceName: 'xiq-sink', ratio: 0.05 } },
    ],
    [
      { TRUST_PROXY: '1', DRAIN_SECONDS: '0' },
      { trustedProxies: 1, drainSeconds: 0 },
    ],
    [{ DRAIN_SECONDS: '20' }, { drainSeconds: 20 }],
    [{ MIGRATE: 'off' }, { migrates: false }],
    [{ LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
  ])('%o is read', (env, expected) => {
    expect(loadConfig(env)).toEqual({ ...loadConfig({}), ...expected });
  });

  it.each([
    [{ PORT: '65536' }, 'PORT must be a whole number from 0 to 65535 (got "65536")'],
    [{ PORT: '-1' }, 'PORT must be a whole number from 0 to 65535 (got "-1")'],
    [{ PORT: '80.5' }, 'PORT must be a whole number from 0 to 65535 (got "80.5")'],
    [{ PORT: '1e3' }, 'PORT must be a whole number from 0 to 65535 (got "1e3")'],
    [{ PORT: ' 80' }, 'PORT must be a whole number from 0 to 65535 (got " 80")'],
    [{ PORT: '٨٠' }, 'PORT must be a whole number from 0 to 65535 (got "٨٠")'],
    [{ MAX_BODY_BYTES: '1023' }, 'MAX_BODY_BYTES must be a whole number from 1024 to 67108864 (got "1023")'],
    [
      { MAX_BODY_BYTES: '67108865' },
      'MAX_BODY_BYTES must be a whole number from 1024 to 67108864 (got "67108865")',
    ],
    [{ DURABILITY: 'always' }, 'DURABILITY must be one of normal, strict (got "always")'],
    [
      { MAX_BYTES_IN_FLIGHT: '1048575' },
      'MAX_BYTES_IN_FLIGHT must be a whole number from 1048576 to 4294967296 (got "1048575")',
    ],
    [
      { MAX_BYTES_IN_FLIGHT: '10485759' },
      'MAX_BYTES_IN_FLIGHT (10485759) must be at least MAX_BODY_BYTES (10485760)',
    ],
    [
      { READER_DATABASE_URL: 'postgresql://xiq_reader:secret@db.example/x' },
      'READER_DATABASE_URL needs DATABASE_URL: the embedded database has a reader of its own',
    ],
    [
      { DATABASE_URL: 'postgresql://db.example/x', BOOTSTRAP_DATABASE_URL: 'postgresql://db.example/x' },
      'BOOTSTRAP_DATABASE_URL needs DATABASE_URL and READER_DATABASE_URL: they name the roles to create',
    ],
    [
      { RETENTION_AUDIT_MONTHS: '0' },
      'RETENTION_AUDIT_MONTHS must be a whole number from 1 to 1200 (got "0")',
    ],
    [
      { RETENTION_LOCATION_MONTHS: 'all' },
      'RETENTION_LOCATION_MONTHS must be a whole number from 1 to 1200 (got "all")',
    ],
    [
      { RETENTION_LOG_MONTHS: '1201' },
      'RETENTION_LOG_MONTHS must be a whole number from 1 to 1200 (got "1201")',
    ],
    [
      { ANCHOR_URL: 'http://audit.example/x' },
      'ANCHOR_URL must be an https:// address, or http:// on this machine, without user name',
    ],
    [
      { WITNESSES: 'https://witness.example' },
      'WITNESSES must be public keys, each with an https:// address after a space, comma separated (got "https://witness.example")',
    ],
    [{ OTEL_TRACES_SAMPLER_ARG: '1.5' }, 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1 (got "1.5")'],
    [
      { LOG_LEVEL: 'loud' },
      'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent (got "loud")',
    ],
    [{ DATABASE_URL: 'db' }, 'DATABASE_URL must be a URL that begins with postgres:// or postgresql://'],
    [
      { DATABASE_URL: 'mysql://db' },
      'DATABASE_URL must be a URL that begins with postgres:// or postgresql://',
    ],
    [
      { REDIS_URL: 'http://cache' },
      'REDIS_URL must be redis://host:6379, redis+sentinel://host:26379,host:26379/mymaster or redis+cluster://host:6379,host:6379 (rediss for TLS)',
    ],
    [{ TLS_CERT_FILE: 'c.pem' }, 'TLS_CERT_FILE and TLS_KEY_FILE: set both or neither'],
    [{ TLS_KEY_FILE: 'k.pem' }, 'TLS_CERT_FILE and TLS_KEY_FILE: set both or neither'],
    [
      { WEBHOOK_SECRET: 'only-15-letters' },
      'WEBHOOK_SECRET must be at least 16 characters (try: openssl rand -hex 32)',
    ],
    [
      { WEBHOOK_SECRET: `${SECRET},` },
      'WEBHOOK_SECRET must be at least 16 characters (try: openssl rand -hex 32)',
    ],
    [
      { WEBHOOK_SECRET: 'with a space in it' },
      'WEBHOOK_SECRET must be printable ASCII characters without spaces',
    ],
    [
      { WEBHOOK_SECRET: 'ein-schönes-geheimnis' },
      'WEBHOOK_SECRET must be printable ASCII characters without spaces',
    ],
  ])('%o is refused, and the message says what it must be', (env, problem) => {
    expect(problemsOf(env)).toContain(problem);
  });
});

it.each([
  '0',
  '17',
  'true',
  'all',
  '*',
  'proxy.internal',
  '10.0.0.0/33',
  '0.0.0.0/0',
  '::/0',
  '1,2',
  '10.0.0.1,',
])('refuses to trust %j as a proxy', (TRUST_PROXY) => {
  expect(problemsOf({ TRUST_PROXY })).toEqual([
    `TRUST_PROXY must be the number of proxies in front (1 to 16), or their addresses and networks, comma separated (also loopback, linklocal, uniquelocal) (got "${TRUST_PROXY}")`,
  ]);
});

it('names every problem at once, of the environment and of the file', () => {
  const file = settingsFile('sources:\n  - name: Shop\n    webhook_secrets: []\n');
  const wrong = { PORT: 'x', LOG_LEVEL: 'y', DATABASE_URL: 'z', TLS_KEY_FILE: 'k', XIQ_SINK_CONFIG: file };
  expect(problemsOf(wrong)).toEqual([
    'DATABASE_URL must be a URL that begins with postgres:// or postgresql://',
    'PORT must be a whole number from 0 to 65535 (got "x")',
    'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent (got "y")',
    'TLS_CERT_FILE and TLS_KEY_FILE: set both or neither',
    `XIQ_SINK_CONFIG ${file}: sources.0.name: must be lower-case letters, digits, - and _ (it is part of the URL)`,
    `XIQ_SINK_CONFIG ${file}: sources.0.webhook_secrets: must contain at least one secret`,
  ]);
});

describe('the settings file', () => {
  const load = (text: string, env = {}) => loadConfig({ ...env, XIQ_SINK_CONFIG: settingsFile(text) });
  const problems = (text: string, env = {}) => problemsOf({ ...env, XIQ_SINK_CONFIG: settingsFile(text) });

  it('adds sources with their secrets, and then asks for none of the default source', () => {
    const text = `sources:\n  - name: north\n    webhook_secrets: [${SECRET}, ${OTHER}]\n  - {name: south-2, webhook_secrets: ["${OTHER}"]}\n`;
    expect(load(text).sources).toEqual([source('north', SECRET, OTHER), source('south-2', OTHER)]);
  });

  it('stands beside the default source of WEBHOOK_SECRET', () => {
    const text = `sources:\n  - name: north\n    webhook_secrets: [${OTHER}]\n`;
    expect(load(text, { WEBHOOK_SECRET: SECRET }).sources).toEqual([
      source('default', SECRET),
      source('north', OTHER),
    ]);
  });

  it('may be empty', () => {
    for (const text of ['', '# nothing\n', '{}', 'sources: []']) expect(load(text)).toEqual(loadConfig({}));
  });

  it('may name the default source, but not beside WEBHOOK_SECRET', () => {
    const text = `sources:\n  - name: default\n    webhook_secrets: [${SECRET}]\n`;
    expect(load(text).sources).toEqual([source('default', SECRET)]);
    expect(problems(text, { WEBHOOK_SECRET: OTHER })).toEqual([
      `WEBHOOK_SECRET: the file's source "default" has secrets of its own; set one of the two`,
    ]);
  });

  it('limits a source, by whole numbers', () => {
    const text = (limits: string) =>
      `sources:\n  - {name: north, webhook_secrets: [${SECRET}], limits: ${limits}}\n`;
    expect(load(text('{deliveries_per_second: 5}')).sources[0]?.limits).toEqual({ deliveriesPerSecond: 5 });
    expect(load(text('{bytes_per_second: 1000}')).sources[0]?.limits).toEqual({ bytesPerSecond: 1_000 });
    expect(problems(text('{bytes_per_secnd: 1, deliveries_per_second: 0.5}'))).toEqual([
      expect.stringContaining('sources.0.limits.deliveries_per_second: '),
      expect.stringContaining('did you mean "bytes_per_second"?'),
    ]);
  });

  it('may not name a source twice', () => {
    const one = `  - name: north\n    webhook_secrets: [${SECRET}]\n`;
    expect(problems(`sources:\n${one}${one}`)).toEqual(['XIQ_SINK_CONFIG: two sources have the same name']);
  });

  it.each(['../up', 'a/b', 'UPPER', '-dash', '', 'x'.repeat(64), 'é'])(
    'refuses %j as the name of a source',
    (name) => {
      const text = `sources:\n  - name: ${JSON.stringify(name)}\n    webhook_secrets: [${SECRET}]\n`;
      expect(problems(text)).toEqual([
        expect.stringMatching(
          /sources\.0\.name: must be lower-case letters, digits, - and _ \(it is part of the URL\)$/,
        ),
      ]);
    },
  );

  it('refuses members that it does not know, and secrets that are not text', () => {
    expect(
      problems(`sources:\n  - name: a\n    secret: x\n    webhook_secrets: [1234567890123456]\n`),
    ).toEqual([
      expect.stringContaining('sources.0.webhook_secrets.0: '),
      expect.stringContaining('"secret"'),
    ]);
    expect(problems('source: []')).toEqual([expect.stringContaining('"source"')]);
    expect(problems('[]')).toEqual([expect.stringContaining('the file: ')]);
  });

  it('that cannot be read is named with the reason', () => {
    const missing = path.join(directory, 'missing.yaml');
    expect(problemsOf({ XIQ_SINK_CONFIG: missing })).toEqual([
      expect.stringMatching(/^XIQ_SINK_CONFIG .*missing\.yaml: .*ENOENT/),
    ]);
    expect(problems('sources:\n  - name: [a\n')).toEqual([
      expect.stringMatching(/settings\.yaml: .*line 3, column 1/),
    ]);
  });
});

describe('secrets', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  afterEach(() => warn.mockClear());

  const SECRETS = [SECRET, 'hunter2hunter2hunter2'];

  function expectNoSecret(text: string): void {
    for (const secret of [...SECRETS, 'hunter2']) expect(text).not.toContain(secret);
  }

  it.each([
    { WEBHOOK_SECRET: 'hunter2' },
    { WEBHOOK_SECRET: `${SECRET},hunter2` },
    { WEBHOOK_SECRET: 'hunter2hunter2hunter2 é' },
    { DATABASE_URL: 'mysql://root:hunter2@db' },
    { DATABASE_URL: 'hunter2hunter2hunter2' },
    { REDIS_URL: 'http://:hunter2@cache' },
  ])('are not in the message about a wrong setting (%#)', (env) => {
    const problems = problemsOf(env);
    expect(problems).not.toEqual([]);
    expectNoSecret(problems.join('\n'));
  });

  it.each([
    'webhook_secrets: ["hunter2hunter2hunter2',
    'webhook_secrets: [*hunter2hunter2hunter2]',
    'webhook_secrets: [!hunter2hunter2hunter2]',
    'webhook_secrets: [@hunter2hunter2hunter2]',
    'webhook_secrets: [%hunter2hunter2hunter2]',
    'webhook_secrets: hunter2hunter2hunter2',
    'webhook_secrets: [hunter2]',
    'webhook_secrets: hunter2: hunter2hunter2hunter2',
    'webhook_secrets:\n    - &hunter2hunter2hunter2\n    - *hunter2hunter2hunter2',
    'webhook_secrets: ["hunter2hunter2hunter2\\q"]',
    'webhook_secrets: {hunter2hunter2hunter2}}',
    'webhook_secrets:\n\t- hunter2hunter2hunter2',
  ])('are not in the message about a mistake in the file, nor in a warning of its parser: %s', (line) => {
    const problems = problemsOf({ XIQ_SINK_CONFIG: settingsFile(`sources:\n  - name: a\n    ${line}\n`) });
    expect(problems).not.toEqual([]);
    expectNoSecret(problems.join('\n'));
    expect(warn).not.toHaveBeenCalled();
  });

  it('are masked in what the start-up log shows, which else says what was decided', () => {
    const config = loadConfig({
      DATABASE_URL: 'postgresql://xiq:hunter2hunter2hunter2@db:5432/sink?password=hunter2',
      REDIS_URL: 'rediss://:hunter2@cache:6380/2?password=hunter2',
      WEBHOOK_SECRET: SECRETS.join(','),
      FORWARD_TO: 'splunk+https://splunk.test:8088',
      FORWARD_TOKEN: 'hunter2hunter2hunter2',
      RETENTION_LOCATION_MONTHS: '6',
      TLS_CERT_FILE: 'c.pem',
      TLS_KEY_FILE: 'k.pem',
      DATA_DIR: '/d',
      ANCHOR_FILE: '/mnt/checkpoints.txt',
      ANCHOR_URL: 'https://audit.test/hunter2?token=hunter2',
    });
    const masked = maskConfig(config);
    expectNoSecret(JSON.stringify(masked));
    expect(masked).toEqual({
      database: 'postgresql://xiq:***@db:5432/sink?password=***',
      queue: 'rediss://:***@cache:6380/2?password=***, prefix bull',
      dataDir: '/d',
      anchors: ['/mnt/checkpoints.txt', 'https://audit.test'],
      listen: 'https://0.0.0.0:8080',
      admin: '127.0.0.1:8081, this machine only',
      publicUrl: undefined,
      sources: ['default (2 secrets, 10 message types, no API)'],
      subscribe: 'report',
      history: { sweeps: true, toleranceMs: 2_000 },
      inventory: 'auto',
      durability: 'normal',
      spool: 'at most 10 GiB, 512 MiB left free',
      maxBodyBytes: 10 * 1024 * 1024,
      maxBytesInFlight: 48 * 1024 * 1024,
      trustedProxies: undefined,
      storesOthers: false,
      retentionMonths: 'audit: all, location: 6, log: all, alerts: all, other: all, deliveries: all',
      quarantine: 'at most 1073741824 bytes for each source, months: all',
      destinations: ['default'],
      traces: undefined,
      drainSeconds: 0,
      migrates: true,
      logLevel: 'info',
    });
  });

  it('absent, the log shows where database and queue are by default', () => {
    expect(maskConfig(loadConfig({}))).toMatchObject({
      database: 'embedded',
      queue: 'in Postgres',
      listen: 'http://0.0.0.0:8080',
    });
  });
});

it('gives settings that nobody can change', () => {
  expect(Object.isFrozen(loadConfig({}))).toBe(true);
});

describe('a name that looks like a setting', () => {
  it.each([
    ['WEBHOOK_SECRETS', 'WEBHOOK_SECRET'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['RETENTION_AUDIT_MONTH', 'RETENTION_AUDIT_MONTHS'],
    ['RETENTION_LOGS_MONTHS', 'RETENTION_LOG_MONTHS'],
    ['DATADIR', 'DATA_DIR'],
    ['ADMIN_PROT', 'ADMIN_PORT'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['MESSAGE_TYPE', 'MESSAGE_TYPES'],
    ['XIQ_SINK_CONF', 'XIQ_SINK_CONFIG'],
    ['public_url', 'PUBLIC_URL'],
  ])('%s is an error that suggests %s', (name, meant) => {
    expect(problemsOf({ [name]: 'x' })).toContain(`${name} is not a setting: did you mean ${meant}?`);
  });

  it('with a prefix of its own is an error that lists the settings with that prefix', () => {
    expect(problemsOf({ RETENTION_DAYS: '7' })).toEqual([
      'RETENTION_DAYS is not a setting: there are RETENTION_AUDIT_MONTHS, RETENTION_LOCATION_MONTHS, RETENTION_LOG_MONTHS, RETENTION_ALERTS_MONTHS, RETENTION_OTHER_MONTHS, RETENTION_DELIVERIES_MONTHS, RETENTION_QUARANTINE_MONTHS',
    ]);
    expect(problemsOf({ SPOOL_DIR: '/x' })).toEqual([expect.stringContaining('SPOOL_MAX_BYTES')]);
  });

  it('is ignored if it belongs to another program', () => {
    const foreign =
      'HOSTNAME HOME PATH PWD SHELL TERM USER LANG TZ EDITOR POST HOSTS PORTS LOG_FORMAT LOG_FILE DEBUG ' +
      'NODE_ENV NODE_OPTIONS NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE ' +
      'POSTGRES_PASSWORD POSTGRES_USER POSTGRES_DB DATABASE_NAME DATABASE_HOST DATABASE_USER DB_URL REDIS_HOST REDIS_PORT ' +
      'REDIS_PASSWORD REDIS_TLS_URL ADMIN_USER ADMIN_EMAIL ADMIN_PASSWORD BASE_URL WEBHOOK_URL CLOUD_RUN_JOB CLOUD_PROVIDER ' +
      'OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_PROTOCOL OTEL_TRACES_SAMPLER OTEL_TRACES_EXPORTER OTEL_LOG_LEVEL ' +
      'OTEL_RESOURCE_ATTRIBUTES OTEL_EXPORTER_OTLP_TRACES_ENDPOINT KUBERNETES_PORT KUBERNETES_SERVICE_HOST ' +
      'XIQ_SINK_PORT XIQ_SINK_SERVICE_HOST XIQ_SINK_SERVICE_PORT XIQ_SINK_PORT_8080_TCP HTTP_PROXY HTTPS_PROXY NO_PROXY ' +
      'INVOCATION_ID JOURNAL_STREAM XDG_DATA_DIRS XDG_DATA_HOME SSH_AUTH_SOCK npm_config_port';
    const env = Object.fromEntries(foreign.split(' ').map((name) => [name, 'x']));
    expect(problemsOf(env)).toEqual([]);
  });

  it('in the file is an error that suggests the setting', () => {
    const file = settingsFile(
      `source: []\nsources:\n  - name: a\n    webhook_secret: x\n    webhook_secrets: [${SECRET}]\n    cloud: {api_ulr: x}\n`,
    );
    expect(problemsOf({ XIQ_SINK_CONFIG: file }).join('\n')).toMatch(
      /unknown setting "source": did you mean "sources"\?[\s\S]*"api_ulr": did you mean "api_url"\?[\s\S]*"webhook_secret": did you mean "webhook_secrets"\?/,
    );
  });
});

describe('PORT and ADMIN_PORT', () => {
  it.each([
    { PORT: '9000', ADMIN_PORT: '9000' },
    { PORT: '9000', ADMIN_PORT: '9000', HOST: '::' },
    { PORT: '9000', ADMIN_PORT: '9000', HOST: 'localhost' },
    { ADMIN_PORT: '8080' },
  ])('%o is refused', (env) => {
    expect(problemsOf(env)).toEqual([expect.stringMatching(/^PORT and ADMIN_PORT must differ/)]);
  });

  it.each([
    { PORT: '0', ADMIN_PORT: '0' },
    { PORT: '9000', ADMIN_PORT: '9000', HOST: '10.0.0.1' },
  ])('%o is accepted', (env) => {
    expect(problemsOf(env)).toEqual([]);
  });
});

describe('references in the file', () => {
  const yaml = (secret: string, token: string) =>
    `sources:\n  - name: north\n    webhook_secrets: [${secret}]\n    cloud: {api_url: https://cloud.test, api_token: ${token}}\n`;
  const load = (text: string, env = {}) => loadConfig({ ...env, XIQ_SINK_CONFIG: settingsFile(text) });

  it('give secrets and credentials of a source from the environment and from files', () => {
    const tokenFile = path.join(directory, 'token');
    writeFileSync(tokenFile, 'a-token-of-a-file\n');
    const config = load(yaml('{ env: NORTH_SECRET }', `{ file: ${tokenFile} }`), { NORTH_SECRET: SECRET });
    expect(config.sources).toEqual([
      {
        ...source('north', SECRET),
        cloud: { apiUrl: 'https://cloud.test', credentials: { apiToken: 'a-token-of-a-file' } },
      },
    ]);
    const login = `sources:\n  - name: a\n    webhook_secrets: [${SECRET}]\n    cloud: {api_url: https://cloud.test, username: {env: U}, password: {env: P}}\n`;
    expect(load(login, { U: 'user', P: 'pass' }).sources[0]?.cloud?.credentials).toEqual({
      username: 'user',
      password: 'pass',
    });
  });

  it('that lead nowhere are reported once, where they stand', () => {
    const file = settingsFile(yaml('{ env: NOT_SET }', '{ file: /nowhere/token }'));
    expect(problemsOf({ XIQ_SINK_CONFIG: file })).toEqual([
      `XIQ_SINK_CONFIG ${file}: sources.0.webhook_secrets.0: the environment variable NOT_SET is not set`,
      `XIQ_SINK_CONFIG ${file}: sources.0.cloud.api_token: /nowhere/token cannot be read: ENOENT`,
    ]);
  });

  it('to a wrong value do not quote it', () => {
    const file = settingsFile(yaml('{ env: SHORT }', 'token'));
    const problems = problemsOf({ XIQ_SINK_CONFIG: file, SHORT: 'hunter2' });
    expect(problems).toEqual([
      expect.stringContaining('sources.0.webhook_secrets.0: must be at least 16 characters'),
    ]);
    expect(problems.join('')).not.toContain('hunter2');
  });
});
