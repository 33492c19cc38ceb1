import { z } from 'zod';
import { DEFAULT_DATA_DIR } from '../lib/files/data-directory.ts';
import { closestName } from '../lib/text/closest-name.ts';
import {
  anchorUrl,
  baseUrl,
  bearerToken,
  bucketUrl,
  choice,
  cloudApiUrl,
  commaSeparated,
  consoleUrl,
  databaseUrl,
  integer,
  issuerUrl,
  messageTypes,
  openIdScopes,
  queuePrefix,
  redisUrl,
  rolesOfGroups,
  secretsKeys,
  share,
  sourcesOfGroups,
  trustedProxies,
  webhookSecret,
  witnesses,
} from './setting-types.ts';
import type { Environment } from './references.ts';

const MIB = 1024 * 1024;

const retention = integer(1, 1200).optional();

const environmentSchema = z.object({
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_DIRECT_URL: databaseUrl.optional(),
  MIGRATION_DATABASE_URL: databaseUrl.optional(),
  READER_DATABASE_URL: databaseUrl.optional(),
  BOOTSTRAP_DATABASE_URL: databaseUrl.optional(),
  REDIS_URL: redisUrl.optional(),
  REDIS_CA_FILE: z.string().optional(),
  QUEUE_PREFIX: queuePrefix.default('bull'),
  DATA_DIR: z.string().default(DEFAULT_DATA_DIR),
  LOG_KEY_FILE: z.string().optional(),
  ERASURE_KEY_FILE: z.string().optional(),
  GDPR_ERASURE: choice('auto', 'off').default('off'),
  ANCHOR_FILE: z.string().optional(),
  ANCHOR_URL: anchorUrl.optional(),
  TIMESTAMP_URL: baseUrl.optional(),
  WITNESSES: witnesses.optional(),
  HOST: z.string().default('0.0.0.0'),
  PORT: integer(0, 65_535).default(8080),
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: integer(0, 65_535).default(8081),
  ADMIN_TOKEN: webhookSecret.optional(),
  CONSOLE_URL: consoleUrl.optional(),
  OIDC_ISSUER: issuerUrl.optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_SCOPES: openIdScopes.default('openid profile email'),
  OIDC_ROLE_CLAIM: z.string().default('groups'),
  OIDC_ROLES: rolesOfGroups.optional(),
  OIDC_SOURCES: sourcesOfGroups.optional(),
  TLS_CERT_FILE: z.string().optional(),
  TLS_KEY_FILE: z.string().optional(),
  WEBHOOK_SECRET: commaSeparated.pipe(z.array(webhookSecret)).optional(),
  SECRETS_KEY: secretsKeys.optional(),
  PUBLIC_URL: baseUrl.optional(),
  CLOUD_API_URL: cloudApiUrl.optional(),
  CLOUD_API_TOKEN: bearerToken.optional(),
  CLOUD_USERNAME: z.string().optional(),
  CLOUD_PASSWORD: z.string().optional(),
  CLOUD_CA_FILE: z.string().optional(),
  MESSAGE_TYPES: commaSeparated.pipe(messageTypes).optional(),
  OTHER_MESSAGE_TYPES: choice('refuse', 'store').default('refuse'),
  SUBSCRIBE: choice('report', 'auto').default('report'),
  HISTORY: choice('auto', 'off').default('auto'),
  HISTORY_CLOCK_TOLERANCE_MS: integer(0, 60_000).default(2_000),
  INVENTORY: choice('auto', 'off').default('auto'),
  /**
   * When the disk spool keeps a delivery: `normal`, only while the queue is unavailable; `strict`, every delivery until its
   * rows are committed.
   */
  DURABILITY: choice('normal', 'strict').default('normal'),
  STRICT_KEEP_MINUTES: integer(0, 10_080).default(60),
  STRICT_REPLICAS: integer(0, 100).default(0),
  SPOOL_MAX_BYTES: integer(1024 * 1024, 2 ** 50).default(10 * 1024 ** 3),
  SPOOL_MIN_FREE_BYTES: integer(0, 2 ** 50).default(512 * 1024 ** 2),
  // A body becomes part of one string, in which each of its characters may need two: V8 allows at most 512 Mi.
  MAX_BODY_BYTES: integer(1024, 64 * MIB).default(10 * MIB),
  MAX_BYTES_IN_FLIGHT: integer(MIB, 4096 * MIB).optional(),
  TRUST_PROXY: trustedProxies.optional(),
  DRAIN_SECONDS: integer(0, 600).optional(),
  MIGRATE: choice('auto', 'off').default('auto'),
  RETENTION_AUDIT_MONTHS: retention,
  RETENTION_LOCATION_MONTHS: retention,
  RETENTION_LOG_MONTHS: retention,
  RETENTION_ALERTS_MONTHS: retention,
  RETENTION_OTHER_MONTHS: retention,
  RETENTION_DELIVERIES_MONTHS: retention,
  RETENTION_QUARANTINE_MONTHS: retention,
  ARCHIVE_AFTER_MONTHS: integer(1, 1_200).optional(),
  ARCHIVE_DIR: z.string().optional(),
  ARCHIVE_S3: bucketUrl.optional(),
  ARCHIVE_S3_REGION: z.string().optional(),
  ARCHIVE_S3_ENDPOINT: baseUrl.optional(),
  ARCHIVE_S3_KEY_ID: z.string().optional(),
  ARCHIVE_S3_SECRET: z.string().optional(),
  ARCHIVE_CACHE_MAX_BYTES: integer(MIB, 2 ** 50).default(10 * 1024 * MIB),
  QUARANTINE_MAX_BYTES: integer(MIB, 2 ** 50).default(1024 * MIB),
  FORWARD_TO: z.string().optional(),
  FORWARD_TOKEN: z.string().optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: baseUrl.optional(),
  OTEL_SERVICE_NAME: z.string().default('xiq-sink'),
  OTEL_TRACES_SAMPLER_ARG: share.default(1),
  LOG_LEVEL: choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').default('info'),
  XIQ_SINK_CONFIG: z.string().optional(),
});

export type EnvironmentSettings = z.output<typeof environmentSchema>;

/** Settings with a secret value: a problem never shows it. */
const SECRET_SETTINGS = new Set([
  'WEBHOOK_SECRET',
  'SECRETS_KEY',
  'ANCHOR_URL',
  'ADMIN_TOKEN',
  'OIDC_CLIENT_SECRET',
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'MIGRATION_DATABASE_URL',
  'READER_DATABASE_URL',
  'BOOTSTRAP_DATABASE_URL',
  'REDIS_URL',
  'CLOUD_API_TOKEN',
  'CLOUD_PASSWORD',
  'ARCHIVE_S3_SECRET',
  'FORWARD_TO',
  'FORWARD_TOKEN',
]);

/** Every setting of the environment, by the name of its variable. */
export const SETTING_NAMES: readonly string[] = Object.keys(environmentSchema.shape);

/** No other program uses variables that begin so. (`XIQ_SINK_` does not count: Kubernetes sets variables for a service of that name.) */
const OWN_PREFIXES = ['CLOUD_API_', 'HISTORY_', 'RETENTION_', 'SPOOL_', 'STRICT_', 'QUARANTINE_', 'ARCHIVE_'];

/**
 * Reads the settings of an environment; an empty one counts as not set. Undefined if any is wrong: `problems` has then
 * gained a line for each, with its value and what it must be. A misspelled name gains a line, too.
 */
export function readEnvironment(env: Environment, problems: string[]): EnvironmentSettings | undefined {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const { data, error } = environmentSchema.safeParse(set);
  for (const { path, message } of error?.issues ?? []) {
    const setting = String(path[0]);
    const got = SECRET_SETTINGS.has(setting) ? '' : ` (got ${JSON.stringify(shown(set[setting] ?? ''))})`;
    problems.push(`${setting} ${message}${got}`);
  }
  if ((set['TLS_CERT_FILE'] === undefined) !== (set['TLS_KEY_FILE'] === undefined)) {
    problems.push('TLS_CERT_FILE and TLS_KEY_FILE: set both or neither');
  }
  problems.push(...Object.keys(set).flatMap(describeMisspelling));
  return data;
}

/** Shorter names are too close to names that mean something else. */
const MIN_MISSPELLED_LENGTH = 6;

/** One edit is a slip in any name; two only in a name that stays recognizable. */
const editsOf = (name: string) => (name.length < 8 ? 1 : 2);

function describeMisspelling(name: string): string[] {
  if (SETTING_NAMES.includes(name)) return [];
  const meant =
    name.length < MIN_MISSPELLED_LENGTH ? undefined : closestName(name, SETTING_NAMES, editsOf(name));
  if (meant !== undefined) return [`${name} is not a setting: did you mean ${meant}?`];
  const prefix = OWN_PREFIXES.find((own) => name.startsWith(own));
  if (prefix === undefined) return [];
  return [
    `${name} is not a setting; known are ${SETTING_NAMES.filter((own) => own.startsWith(prefix)).join(', ')}`,
  ];
}

/** A wrong value as it may be shown: an address may contain a password before its last @, or a token in its query. */
const shown = (value: string): string => value.replace(/^.*@/s, '…@').replace(/([?#]).*/s, '$1…');
