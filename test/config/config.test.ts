import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { loadConfig, maskConfig } from '../../src/config/config.ts';
import { resolveReferences } from '../../src/config/references.ts';
import { CLOUD_TYPES } from '../../src/events/domain.ts';
import { SettingsError } from '../../src/lib/errors.ts';
import { useDirectory } from '../support/use-directory.ts';
import { problemsOf } from './problems-of.ts';

const SECRET = 'kPq7-first-secret-0001';
const OTHER = 'kPq7-other-secret-0002';

const DB = 'postgresql://db/x';

const directory = useDirectory();

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

it('defaults stand for a setting that is set to nothing, and other variables are ignored', () => {
  const nothing = Object.fromEntries(
    ['DATABASE_URL', 'REDIS_URL', 'DATA_DIR', 'HOST', 'PORT', 'TLS_CERT_FILE', 'TLS_KEY_FILE']
      .concat(['WEBHOOK_SECRET', 'MAX_BODY_BYTES', 'RETENTION_LOG_MONTHS', 'LOG_LEVEL', 'XIQ_SINK_CONFIG'])
      .map((name) => [name, '']),
  );
  expect(loadConfig({ ...nothing, PATH: '/bin', UNSET: undefined })).toEqual(loadConfig({}));
});

describe('each setting', () => {
  const anchors = { file: undefined, url: undefined, timestampUrl: undefined, witnesses: [] };
  const publicKey = `w+0a1b2c3d+${'A'.repeat(44)}`;

  /** Settings that do not touch each other share a row. */
  it.each([
    [
      { DATABASE_URL: 'postgres://u:p@db/x', REDIS_URL: 'redis://cache:6379/1', HOST: '::1', PORT: '0' },
      { databaseUrl: 'postgres://u:p@db/x', redisUrl: 'redis://cache:6379/1', host: '::1', port: 0 },
    ],
    [
      {
        DATABASE_URL: 'postgresql://db:5433/x?sslmode=require',
        REDIS_URL: 'rediss://:p@cache',
        PORT: '65535',
      },
      { databaseUrl: 'postgresql://db:5433/x?sslmode=require', redisUrl: 'rediss://:p@cache', port: 65_535 },
    ],
    [
      { DATA_DIR: '/var/lib/x/../xiq', LOG_KEY_FILE: '/keys/log' },
      {
        dataDir: '/var/lib/xiq',
        erasureKeyFile: '/var/lib/xiq/erasure-key',
        logKeyFile: '/keys/log',
        archive: {
          afterMonths: undefined,
          directory: '/var/lib/xiq/archive',
          s3: undefined,
          cacheMaxBytes: 10_737_418_240,
        },
      },
    ],
    [
      {
        DATA_DIR: 'here',
        ERASURE_KEY_FILE: '/keys/e',
        GDPR_ERASURE: 'auto',
        ARCHIVE_DIR: '/a',
        ARCHIVE_AFTER_MONTHS: '3',
      },
      {
        dataDir: path.resolve('here'),
        erasureKeyFile: '/keys/e',
        erasesAfterGdprLog: true,
        archive: { afterMonths: 3, directory: '/a', s3: undefined, cacheMaxBytes: 10_737_418_240 },
      },
    ],
    [
      {
        ARCHIVE_DIR: '/a',
        ARCHIVE_S3: 's3://network.archive-1/xiq/months/',
        ARCHIVE_S3_REGION: 'eu-central-1',
        ARCHIVE_S3_ENDPOINT: 'https://minio.example/',
        ARCHIVE_S3_KEY_ID: 'id',
        ARCHIVE_S3_SECRET: 'secret',
        ARCHIVE_CACHE_MAX_BYTES: '1048576',
      },
      {
        archive: {
          afterMonths: undefined,
          directory: '/a',
          s3: {
            bucket: 'network.archive-1',
            prefix: 'xiq/months/',
            region: 'eu-central-1',
            endpoint: 'https://minio.example',
            access_key_id: 'id',
            secret_access_key: 'secret',
          },
          cacheMaxBytes: 1_048_576,
        },
      },
    ],
    [
      { ANCHOR_FILE: '/mnt/a', TIMESTAMP_URL: 'http://tsa.example' },
      { anchors: { ...anchors, file: '/mnt/a', timestampUrl: 'http://tsa.example' } },
    ],
    [
      { WITNESSES: `${publicKey} https://w.example/a/` },
      { anchors: { ...anchors, witnesses: [{ publicKey, url: 'https://w.example/a' }] } },
    ],
    [
      { TLS_CERT_FILE: 'c.pem', TLS_KEY_FILE: 'k.pem', WEBHOOK_SECRET: ` ${SECRET} , ${OTHER}` },
      { tls: { certFile: 'c.pem', keyFile: 'k.pem' }, sources: [source('default', SECRET, OTHER)] },
    ],
    [
      { WEBHOOK_SECRET: 'exactly16~chars!', MAX_BODY_BYTES: '1024', MAX_BYTES_IN_FLIGHT: '4294967296' },
      {
        sources: [source('default', 'exactly16~chars!')],
        maxBodyBytes: 1024,
        maxBytesInFlight: 4_294_967_296,
      },
    ],
    [
      { MAX_BODY_BYTES: '67108864', DURABILITY: 'strict', STRICT_KEEP_MINUTES: '5', STRICT_REPLICAS: '2' },
      {
        maxBodyBytes: 67_108_864,
        maxBytesInFlight: 67_108_864,
        durability: 'strict',
        strict: { keepMs: 300_000, replicas: 2 },
      },
    ],
    [
      { SPOOL_MAX_BYTES: '1048576', SPOOL_MIN_FREE_BYTES: '0', MAX_BYTES_IN_FLIGHT: '10485760' },
      { spool: { maxBytes: 1_048_576, minFreeBytes: 0 }, maxBytesInFlight: 10_485_760 },
    ],
    [{ TRUST_PROXY: '1' }, { trustedProxies: 1, drainSeconds: 5 }],
    [
      { TRUST_PROXY: '16', DRAIN_SECONDS: '0' },
      { trustedProxies: 16, drainSeconds: 0 },
    ],
    [
      { TRUST_PROXY: '10.0.0.1,10.0.0.0/8, 2001:db8::/32,loopback,linklocal,uniquelocal' },
      {
        drainSeconds: 5,
        trustedProxies: ['10.0.0.1', '10.0.0.0/8', '2001:db8::/32', 'loopback', 'linklocal', 'uniquelocal'],
      },
    ],
    [
      { RETENTION_AUDIT_MONTHS: '1200', RETENTION_LOCATION_MONTHS: '1', RETENTION_LOG_MONTHS: '13' },
      { retentionMonths: { audit: 1200, location: 1, log: 13 } },
    ],
    [
      { RETENTION_DELIVERIES_MONTHS: '24', RETENTION_ALERTS_MONTHS: '14' },
      { retentionMonths: { deliveries: 24, alerts: 14 } },
    ],
    [
      { QUARANTINE_MAX_BYTES: '1048576', RETENTION_QUARANTINE_MONTHS: '3', OTHER_MESSAGE_TYPES: 'store' },
      { quarantine: { maxBytes: 1_048_576, months: 3 }, storesOthers: true },
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318/', OTEL_TRACES_SAMPLER_ARG: '0.05' },
      { traces: { endpoint: 'http://otel:4318', serviceName: 'xiq-sink', ratio: 0.05 } },
    ],
    [
      { DRAIN_SECONDS: '20', MIGRATE: 'off', LOG_LEVEL: 'debug', SECRETS_KEY: `${'A'.repeat(43)}=` },
      { drainSeconds: 20, migrates: false, logLevel: 'debug', secretsKeys: [expect.anything()] },
    ],
  ])('%o is read', (env, expected) => {
    expect(loadConfig(env)).toEqual({ ...loadConfig({}), ...expected });
  });

  const MONTHS = 'a whole number from 1 to 1200';

  it.each<[name: string, mustBe: string, values: readonly string[]]>([
    ['PORT', 'a whole number from 0 to 65535', ['65536', '-1', '80.5', '1e3', ' 80', '٨٠']],
    ['MAX_BODY_BYTES', 'from 1024 to 67108864', ['1023', '67108865']],
    ['MAX_BYTES_IN_FLIGHT', 'from 1048576 to 4294967296', ['1048575', '4294967297']],
    ['RETENTION_AUDIT_MONTHS', MONTHS, ['0', '1201', 'all']],
    ['RETENTION_LOCATION_MONTHS', MONTHS, ['0']],
    ['RETENTION_LOG_MONTHS', MONTHS, ['1201']],
    ['DURABILITY', 'normal, strict', ['always']],
    ['OTEL_TRACES_SAMPLER_ARG', 'from 0 to 1', ['1.5', '-0.1']],
    ['LOG_LEVEL', 'trace, debug, info', ['loud']],
    ['WITNESSES', 'public keys', ['https://witness.example']],
    [
      'TRUST_PROXY',
      '1 to 16',
      ['0', '17', 'true', '*', 'proxy.internal', '10.0.0.0/33', '0.0.0.0/0', '::/0', '1,2', '10.0.0.1,'],
    ],
  ])('%s must be %s, and the message quotes what it is', (name, mustBe, values) => {
    for (const value of values) {
      const problems = problemsOf({ [name]: value });
      expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name} must be `))]);
      expect(problems[0]).toContain(mustBe);
      expect(problems[0]).toContain(`(got "${value}")`);
    }
  });

  /** Values that may contain a secret are not quoted. */
  it.each<[env: Record<string, string>, learns: RegExp]>([
    [{ MAX_BYTES_IN_FLIGHT: '10485759' }, /^MAX_BYTES_IN_FLIGHT .* at least MAX_BODY_BYTES \(10485760\)$/],
    [{ READER_DATABASE_URL: 'postgresql://xiq_reader:p@db/x' }, /^READER_DATABASE_URL needs DATABASE_URL/],
    [{ MIGRATION_DATABASE_URL: DB }, /^MIGRATION_DATABASE_URL needs DATABASE_URL/],
    [{ DATABASE_DIRECT_URL: DB }, /^DATABASE_DIRECT_URL needs DATABASE_URL/],
    [{ ADMIN_HOST: '0.0.0.0' }, /^ADMIN_HOST needs ADMIN_TOKEN/],
    [{ REDIS_URL: 'redis://cache', REDIS_CA_FILE: 'ca.pem' }, /^REDIS_CA_FILE needs a REDIS_URL/],
    [{ REDIS_CA_FILE: 'ca.pem' }, /^REDIS_CA_FILE needs a REDIS_URL/],
    [{ ARCHIVE_S3_ENDPOINT: 'https://minio.example' }, /^ARCHIVE_S3_ENDPOINT .* need ARCHIVE_S3/],
    [{ ARCHIVE_S3: 's3://archive', ARCHIVE_S3_KEY_ID: 'id' }, /^ARCHIVE_S3_KEY_ID .* together/],
    [
      { DATABASE_URL: DB, BOOTSTRAP_DATABASE_URL: DB },
      /^BOOTSTRAP_DATABASE_URL needs DATABASE_URL and READER_DATABASE_URL/,
    ],
    [{ ANCHOR_URL: 'http://audit.example/x' }, /^ANCHOR_URL must be an https:\/\/ address/],
    [{ DATABASE_URL: 'db' }, /^DATABASE_URL must be a URL that begins with postgres:/],
    [{ DATABASE_URL: 'mysql://db' }, /^DATABASE_URL must be a URL that begins with postgres:/],
    [{ REDIS_URL: 'http://cache' }, /^REDIS_URL must be redis:.* redis\+sentinel:.* redis\+cluster:/],
    [{ TLS_CERT_FILE: 'c.pem' }, /^TLS_CERT_FILE and TLS_KEY_FILE: set both/],
    [{ TLS_KEY_FILE: 'k.pem' }, /^TLS_CERT_FILE and TLS_KEY_FILE: set both/],
    [{ WEBHOOK_SECRET: 'only-15-letters' }, /^WEBHOOK_SECRET must be at least 16 characters/],
    [{ WEBHOOK_SECRET: 'with a space in it' }, /^WEBHOOK_SECRET must be printable ASCII/],
    [{ WEBHOOK_SECRET: 'ein-schönes-geheimnis' }, /^WEBHOOK_SECRET must be printable ASCII/],
    [{ ADMIN_PORT: '8080' }, /^PORT and ADMIN_PORT must differ/],
    [{ PORT: '9000', ADMIN_PORT: '9000', HOST: '::' }, /^PORT and ADMIN_PORT must differ/],
    [{ PORT: '9000', ADMIN_PORT: '9000', HOST: 'localhost' }, /^PORT and ADMIN_PORT must differ/],
  ])('%o is refused with what to do', (env, learns) => {
    expect(problemsOf(env)).toEqual([expect.stringMatching(learns)]);
  });

  it.each([
    { PORT: '0', ADMIN_PORT: '0', ADMIN_HOST: '0.0.0.0', ADMIN_TOKEN: SECRET },
    { PORT: '0', ADMIN_PORT: '0', REDIS_URL: 'rediss://cache', REDIS_CA_FILE: 'ca.pem' },
    { PORT: '9000', ADMIN_PORT: '9000', HOST: '10.0.0.1' },
    {
      DATABASE_URL: DB,
      DATABASE_DIRECT_URL: DB,
      MIGRATION_DATABASE_URL: DB,
      READER_DATABASE_URL: DB,
      BOOTSTRAP_DATABASE_URL: DB,
    },
  ])('%o is accepted', (env) => {
    expect(problemsOf(env)).toEqual([]);
  });
});

it('names every problem at once, of the environment, of the file and of what else is checked', () => {
  const file = settingsFile('sources:\n  - name: Shop\n    webhook_secrets: []\n');
  const wrong = { PORT: 'x', LOG_LEVEL: 'y', DATABASE_URL: 'z', TLS_KEY_FILE: 'k', XIQ_SINK_CONFIG: file };
  const check = () => {
    throw new SettingsError(['a check']);
  };
  const load = (env: Readonly<Record<string, string>>) => loadConfig(env, [() => undefined, check]);
  expect(problemsOf(wrong, load).map((problem) => problem.split(' must')[0])).toEqual([
    'DATABASE_URL',
    'PORT',
    'LOG_LEVEL',
    'TLS_CERT_FILE and TLS_KEY_FILE: set both or neither',
    `XIQ_SINK_CONFIG ${file}: sources.0.name:`,
    `XIQ_SINK_CONFIG ${file}: sources.0.webhook_secrets:`,
    'a check',
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
      `WEBHOOK_SECRET: the file's source "default" has its own secrets; set only one of the two`,
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
      expect(problems(text)).toEqual([expect.stringContaining('sources.0.name: must be lower-case letters')]);
    },
  );

  it('refuses members that it does not know, and secrets that are not text', () => {
    expect(
      problems(`sources:\n  - name: a\n    secret: x\n    webhook_secrets: [1234567890123456]\n`),
    ).toEqual([
      expect.stringContaining('sources.0.webhook_secrets.0: '),
      expect.stringContaining('"secret"'),
    ]);
    expect(problems('sources:\n')).toEqual([expect.stringContaining('sources: ')]);
    expect(problems('source: []')).toEqual([expect.stringContaining('"source"')]);
    expect(problems('[]')).toEqual([expect.stringContaining('the file: ')]);
  });

  it('that cannot be read is named with the reason', () => {
    const missing = path.join(directory, 'missing.yaml');
    expect(problemsOf({ XIQ_SINK_CONFIG: missing })).toEqual([
      `XIQ_SINK_CONFIG ${missing}: there is no such file`,
    ]);
    expect(problems('sources:\n  - name: [a\n')).toEqual([
      expect.stringMatching(/settings\.yaml: .*line 3, column 1/),
    ]);
  });
});

describe('secrets', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  afterEach(() => warn.mockClear());
  afterAll(() => warn.mockRestore());

  const SECRETS = [SECRET, 'hunter2hunter2hunter2'];

  function expectNoSecret(text: string): void {
    for (const secret of [...SECRETS, 'hunter2']) expect(text).not.toContain(secret);
  }

  it.each([
    { WEBHOOK_SECRET: 'hunter2' },
    { WEBHOOK_SECRET: `${SECRET},hunter2` },
    { WEBHOOK_SECRET: 'hunter2hunter2hunter2,' },
    { WEBHOOK_SECRET: 'hunter2hunter2hunter2 é' },
    { DATABASE_URL: 'mysql://root:hunter2@db' },
    { DATABASE_URL: 'hunter2hunter2hunter2' },
    { REDIS_URL: 'http://:hunter2@cache' },
    { CLOUD_API_TOKEN: 'hunter2 ' },
    { CLOUD_API_URL: 'https://me:hunter2@cloud.test' },
    { PUBLIC_URL: 'https://sink.test/?token=hunter2' },
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
    'cloud: { api_url: "x:hunter2@y", password: hunter2 }',
  ])('are not in the message about a mistake in the file, nor in a warning of its parser: %s', (line) => {
    const problems = problemsOf({ XIQ_SINK_CONFIG: settingsFile(`sources:\n  - name: a\n    ${line}\n`) });
    expect(problems).not.toEqual([]);
    expectNoSecret(problems.join('\n'));
    expect(warn).not.toHaveBeenCalled();
  });

  it('are masked in what the start-up log shows, which else says what was decided', () => {
    const masked = maskConfig(
      loadConfig({
        DATABASE_URL: 'postgresql://xiq:hunter2hunter2hunter2@db:5432/sink?password=hunter2',
        REDIS_URL: 'rediss://:hunter2@cache:6380/2?password=hunter2',
        WEBHOOK_SECRET: SECRETS.join(','),
        CLOUD_API_URL: 'https://cloud.test/prefix/',
        CLOUD_API_TOKEN: 'hunter2',
        FORWARD_TO: 'splunk+https://splunk.test:8088',
        FORWARD_TOKEN: 'hunter2hunter2hunter2',
        RETENTION_LOCATION_MONTHS: '6',
        ANCHOR_FILE: '/mnt/checkpoints.txt',
        ANCHOR_URL: 'https://audit.test/hunter2?token=hunter2',
        DURABILITY: 'strict',
      }),
    );
    expectNoSecret(JSON.stringify(masked));
    expect(masked).toMatchObject({
      database: 'postgresql://xiq:***@db:5432/sink?password=***',
      queue: 'rediss://:***@cache:6380/2?password=***, prefix bull',
      anchors: ['/mnt/checkpoints.txt', 'https://audit.test'],
      sources: [
        `default (2 secrets, ${CLOUD_TYPES.length} message types, https://cloud.test/prefix with API token)`,
      ],
      retentionMonths: 'audit: all, location: 6, log: all, alerts: all, other: all, deliveries: all',
      destinations: ['default'],
      strict: { replicas: 0 },
    });
    const login = { CLOUD_API_URL: 'https://cloud.test', CLOUD_USERNAME: 'me', CLOUD_PASSWORD: 'hunter2' };
    const key = `w+0a1b2c3d+${'A'.repeat(44)}`;
    const other = maskConfig(
      loadConfig({
        ...login,
        DATABASE_URL: DB,
        ADMIN_TOKEN: 'hunter2hunter2hunter2',
        TLS_CERT_FILE: 'c.pem',
        TLS_KEY_FILE: 'k.pem',
        WITNESSES: `${key} https://w.example`,
        RETENTION_QUARANTINE_MONTHS: '3',
        ARCHIVE_DIR: '/a',
        ARCHIVE_S3: 's3://archive/xiq',
        ARCHIVE_S3_ENDPOINT: 'https://minio.example',
        ARCHIVE_S3_KEY_ID: 'id',
        ARCHIVE_S3_SECRET: 'hunter2',
      }),
    );
    expectNoSecret(JSON.stringify(other));
    expect(other).toMatchObject({
      database: DB,
      listen: 'https://0.0.0.0:8080',
      admin: '127.0.0.1:8081, with token',
      anchors: ['https://w.example'],
      archive: { directory: '/a', s3: 's3://archive/xiq/ at https://minio.example' },
      quarantine: 'at most 1073741824 bytes for each source, months: 3',
    });
    expect(other['sources']).toEqual([expect.stringContaining('https://cloud.test with user name')]);
  });

  it('absent, the log shows where database and queue are by default', () => {
    expect(loadConfig({}).secretsKeys).toEqual([]);
    expect(maskConfig(loadConfig({}))).toMatchObject({
      database: 'embedded',
      queue: 'in Postgres',
      listen: 'http://0.0.0.0:8080',
      admin: '127.0.0.1:8081, this machine only',
      strict: undefined,
    });
  });
});

describe('a name that looks like a setting', () => {
  it.each([
    ['WEBHOOK_SECRETS', 'WEBHOOK_SECRET'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['RETENTION_AUDIT_MONTH', 'RETENTION_AUDIT_MONTHS'],
    ['DATADIR', 'DATA_DIR'],
    ['ADMIN_PROT', 'ADMIN_PORT'],
    ['ADMN_PRT', 'ADMIN_PORT'],
    ['XIQ_SINK_CONF', 'XIQ_SINK_CONFIG'],
    ['public_url', 'PUBLIC_URL'],
  ])('%s is an error that suggests %s', (name, meant) => {
    expect(problemsOf({ [name]: 'x' })).toContain(`${name} is not a setting: did you mean ${meant}?`);
  });

  it('with a prefix of its own is an error that lists the settings with that prefix', () => {
    expect(problemsOf({ RETENTION_DAYS: '7' })).toEqual([
      expect.stringMatching(
        /^RETENTION_DAYS is not a setting; .*RETENTION_AUDIT_MONTHS, .*_DELIVERIES_MONTHS/,
      ),
    ]);
    expect(problemsOf({ SPOOL_DIR: '/x' })).toEqual([
      expect.stringMatching(/; known are SPOOL_MAX_BYTES, SPOOL_MIN_FREE_BYTES$/),
    ]);
  });

  it('is ignored if it belongs to another program', () => {
    const foreign =
      'HOSTNAME HOME PATH PWD SHELL TERM USER LANG TZ EDITOR POST HOSTS PORTS LOG_FORMAT LOG_FILE DATA_IN DEBUG ' +
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

  it.each([
    ['\n', ' pass word '],
    ['\r\n', ' pass word '],
    ['\n\n', ' pass word \n'],
  ])('to a file leave out its last line break (%j) alone', (end, password) => {
    const file = path.join(directory, 'password');
    writeFileSync(file, ` pass word ${end}`);
    const resolved = resolveReferences({ inner: [{ file }] }, {}, (_path, reason) => {
      throw new Error(reason);
    });
    expect(resolved).toEqual({ inner: [password] });
  });

  it('that lead nowhere are reported once, where they stand', () => {
    const file = settingsFile(yaml('{ env: NOT_SET }', '{ file: /nowhere/token }'));
    expect(problemsOf({ XIQ_SINK_CONFIG: file })).toEqual([
      `XIQ_SINK_CONFIG ${file}: sources.0.webhook_secrets.0: the environment variable NOT_SET is not set`,
      `XIQ_SINK_CONFIG ${file}: sources.0.cloud.api_token: /nowhere/token cannot be read: ENOENT`,
    ]);
  });
});
