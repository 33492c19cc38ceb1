import path from 'node:path';
import { destinationNames, gatherForwarding, type ForwardingSettings } from './destinations.ts';
import { readEnvironment, type EnvironmentSettings } from './environment.ts';
import { readSettingsFile } from './settings-file.ts';
import { mergeSources, type SourceConfig } from './sources.ts';
import { CLOUD_TYPES, type Family } from '../events/domain.ts';
import { SettingsError } from '../lib/errors.ts';
import { isLoopback, isLoopbackHost } from '../lib/loopback.ts';
import { maskRedisUrl } from '../lib/redis-address.ts';
import { countOf, formatBytes } from '../lib/text/units.ts';
import type { Environment } from './references.ts';

type OpenIdConfig = NonNullable<ReturnType<typeof readOpenId>>;

/** The settings that have no effect without OIDC_ISSUER. */
const NEEDS_ISSUER = ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ROLES', 'OIDC_SOURCES'] as const;
const ISSUER_NEEDS = ['OIDC_CLIENT_ID', 'OIDC_ROLES', 'CONSOLE_URL'] as const;

/** What is missing or useless of OpenID Connect, whatever else is wrong with the settings. */
function openIdProblems(env: Environment): string[] {
  const isSet = (name: string) => (env[name] ?? '') !== '';
  if (!isSet('OIDC_ISSUER')) {
    const useless = NEEDS_ISSUER.filter(isSet);
    return useless.length === 0 ? [] : [`${useless.join(', ')}: also set OIDC_ISSUER, or remove them`];
  }
  const missing = ISSUER_NEEDS.filter((name) => !isSet(name));
  return missing.length === 0 ? [] : [`OIDC_ISSUER needs ${missing.join(', ')}`];
}

/** The settings of OpenID Connect; undefined without those that it needs. */
function readOpenId(settings: EnvironmentSettings) {
  const {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_ROLES: roles,
    CONSOLE_URL: consoleUrl,
  } = settings;
  if (issuer === undefined || clientId === undefined || roles === undefined || consoleUrl === undefined) {
    return undefined;
  }
  return {
    /** As the provider writes it in its tokens, where a slash at the end counts. */
    issuer,
    clientId,
    /** Undefined for a public client. */
    clientSecret: settings.OIDC_CLIENT_SECRET,
    scopes: settings.OIDC_SCOPES,
    /** The claim that lists the groups of a person. */
    roleClaim: settings.OIDC_ROLE_CLAIM,
    roles,
    /** The sources that each group may see; `*` for all. Undefined: everyone may see all. */
    sources: settings.OIDC_SOURCES,
    /** The origin of the console in browsers, without a trailing slash. */
    consoleUrl,
  };
}

/** The settings of OpenID Connect in one line, without the secret. */
function describeOpenId({ issuer, clientId, clientSecret, ...openId }: OpenIdConfig): string {
  const list = (pairs: readonly { readonly group: string; readonly value: string }[]) =>
    pairs.map(({ group, value }) => `${group}=${value}`).join(', ');
  const client = `client ${clientId} ${clientSecret === undefined ? 'without' : 'with'} secret`;
  const sources = openId.sources === undefined ? 'all' : list(openId.sources);
  return `${issuer}, ${client}, claim ${openId.roleClaim}, roles: ${list(openId.roles)}, sources: ${sources}`;
}

export type { OpenIdConfig, SourceConfig };

/** All settings, checked. The live ones are replaced when the settings are read again. */
export type Config = ReturnType<typeof loadConfig>;

/** With a proxy in front: two health checks of the usual proxies. */
const DRAIN_SECONDS_BEHIND_PROXY = 5;

/** A flood of large bodies takes the memory to 434 MB with this, and took it to 496 MB with 64 MiB. */
const DEFAULT_BYTES_IN_FLIGHT = 48 * 1024 * 1024;

/**
 * Reads the settings from the environment and from the file that `XIQ_SINK_CONFIG` names. Throws one SettingsError that
 * lists every wrong setting with its value and what it must be. `checks` may add to the list: each checks what only the
 * forwarder knows, by throwing its own SettingsError.
 */
export function loadConfig(
  env: Environment,
  checks: readonly ((forwarding: ForwardingSettings) => unknown)[] = [],
) {
  const problems: string[] = [];
  const settings = readEnvironment(env, problems);
  const file = readSettingsFile(env['XIQ_SINK_CONFIG'] || undefined, env, problems);
  const sources = mergeSources(settings, file, problems);
  const forwarding = gatherForwarding(env, file);
  problems.push(...openIdProblems(env));
  const openId = settings && readOpenId(settings);
  if (settings !== undefined) problems.push(...contradictions(settings, sources));
  for (const check of checks) problems.push(...problemsOf(() => check(forwarding)));
  if (settings === undefined || problems.length > 0) throw new SettingsError(problems);
  return Object.freeze({
    /** Undefined: the embedded Postgres under `dataDir`. */
    databaseUrl: settings.DATABASE_URL,
    /** The same database without the pooler of `databaseUrl`. Undefined: there is no pooler, or no way around it. */
    databaseDirectUrl: settings.DATABASE_DIRECT_URL,
    /** The same database for migrations, as a role that can own the tables. Undefined: that of `databaseUrl`, or the embedded one. */
    migrationDatabaseUrl: settings.MIGRATION_DATABASE_URL,
    /** The same database for `xiq-sink sql`, as `xiq_reader`. Undefined: the embedded Postgres, or not configured. */
    readerDatabaseUrl: settings.READER_DATABASE_URL,
    /** The superuser with which `xiq-sink migrate` creates the database roles. */
    bootstrapDatabaseUrl: settings.BOOTSTRAP_DATABASE_URL,
    redisUrl: settings.REDIS_URL,
    /** Certificates of the authorities for `rediss://`. Undefined: those that Node.js knows. */
    redisCaFile: settings.REDIS_CA_FILE,
    queuePrefix: settings.QUEUE_PREFIX,
    dataDir: path.resolve(settings.DATA_DIR),
    /** The file of the key that signs the checkpoints of the log. Undefined: one in `dataDir`. */
    logKeyFile: settings.LOG_KEY_FILE,
    /** The file of the key that recognizes records of erased people. */
    erasureKeyFile: settings.ERASURE_KEY_FILE ?? path.join(path.resolve(settings.DATA_DIR), 'erasure-key'),
    erasesAfterGdprLog: settings.GDPR_ERASURE === 'auto',
    anchors: {
      file: settings.ANCHOR_FILE,
      url: settings.ANCHOR_URL,
      timestampUrl: settings.TIMESTAMP_URL,
      witnesses: settings.WITNESSES ?? [],
    },
    host: settings.HOST,
    port: settings.PORT,
    tls:
      settings.TLS_CERT_FILE !== undefined && settings.TLS_KEY_FILE !== undefined
        ? { certFile: settings.TLS_CERT_FILE, keyFile: settings.TLS_KEY_FILE }
        : undefined,
    /** The listener of console, API and metrics. Undefined token: anyone on this machine has access. */
    admin: { host: settings.ADMIN_HOST, port: settings.ADMIN_PORT, token: settings.ADMIN_TOKEN },
    openId,
    sources,
    /** Certificates of the authorities to trust besides those that Node.js knows. */
    cloudCaFile: settings.CLOUD_CA_FILE,
    messageTypes: settings.MESSAGE_TYPES ?? CLOUD_TYPES,
    /** The keys that encrypt secrets in the database: the first encrypts, all decrypt. Empty: none can be stored. */
    secretsKeys: settings.SECRETS_KEY ?? [],
    /** The address at which the cloud reaches this program, without a trailing slash; may have a path prefix. */
    publicUrl: settings.PUBLIC_URL,
    /** What `serve` does about subscriptions that differ from these settings. */
    subscribe: settings.SUBSCRIBE,
    /** Whether `serve` compares sources with the logs of their cloud, and how much the clocks of both may differ. */
    history: { sweeps: settings.HISTORY === 'auto', toleranceMs: settings.HISTORY_CLOCK_TOLERANCE_MS },
    inventory: settings.INVENTORY,
    /** `strict`: every delivery is spooled until its rows are committed. */
    durability: settings.DURABILITY,
    /**
     * How long `strict` keeps a delivery after its commit, and the number of replicas that make this unnecessary once they
     * have the commit; 0: none do.
     */
    strict: {
      keepMs: settings.STRICT_KEEP_MINUTES * 60_000,
      replicas: settings.STRICT_REPLICAS,
    },
    spool: { maxBytes: settings.SPOOL_MAX_BYTES, minFreeBytes: settings.SPOOL_MIN_FREE_BYTES },
    maxBodyBytes: settings.MAX_BODY_BYTES,
    /** Bytes of deliveries in progress above which further ones are refused. */
    maxBytesInFlight:
      settings.MAX_BYTES_IN_FLIGHT ?? Math.max(DEFAULT_BYTES_IN_FLIGHT, settings.MAX_BODY_BYTES),
    /** The proxies whose X-Forwarded-For is trusted: how many, or their addresses. Undefined: none. */
    trustedProxies: settings.TRUST_PROXY,
    storesOthers: settings.OTHER_MESSAGE_TYPES === 'store',
    /** Months that events are kept, by family, and deliveries. Undefined: for ever. */
    retentionMonths: {
      audit: settings.RETENTION_AUDIT_MONTHS,
      location: settings.RETENTION_LOCATION_MONTHS,
      log: settings.RETENTION_LOG_MONTHS,
      alerts: settings.RETENTION_ALERTS_MONTHS,
      other: settings.RETENTION_OTHER_MONTHS,
      deliveries: settings.RETENTION_DELIVERIES_MONTHS,
    } satisfies Record<Family | 'deliveries', number | undefined>,
    /** After how many months events leave the database for files. Undefined: never. */
    archive: {
      afterMonths: settings.ARCHIVE_AFTER_MONTHS,
      directory: path.resolve(settings.ARCHIVE_DIR ?? path.join(settings.DATA_DIR, 'archive')),
      /** The bucket of the files, with the options of the forwarder's. Undefined: they are in `directory`. */
      s3: settings.ARCHIVE_S3 && {
        ...settings.ARCHIVE_S3,
        region: settings.ARCHIVE_S3_REGION,
        endpoint: settings.ARCHIVE_S3_ENDPOINT,
        access_key_id: settings.ARCHIVE_S3_KEY_ID,
        secret_access_key: settings.ARCHIVE_S3_SECRET,
      },
      /** What downloaded files take in `directory`. */
      cacheMaxBytes: settings.ARCHIVE_CACHE_MAX_BYTES,
    },
    /** The content that quarantine keeps: bytes of each source, and months. Undefined months: for ever. */
    quarantine: { maxBytes: settings.QUARANTINE_MAX_BYTES, months: settings.RETENTION_QUARANTINE_MONTHS },
    forwarding,
    /** Where traces are sent, and the share of deliveries that is traced. Undefined: no traces. */
    traces:
      settings.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
        ? undefined
        : {
            endpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
            serviceName: settings.OTEL_SERVICE_NAME,
            ratio: settings.OTEL_TRACES_SAMPLER_ARG,
          },
    /** Seconds between SIGTERM and the end of accepting, for a proxy to notice that readiness has ended. */
    drainSeconds:
      settings.DRAIN_SECONDS ?? (settings.TRUST_PROXY === undefined ? 0 : DRAIN_SECONDS_BEHIND_PROXY),
    /** Whether `serve` updates the tables. False: it starts only if they are up to date. */
    migrates: settings.MIGRATE === 'auto',
    logLevel: settings.LOG_LEVEL,
  });
}

function problemsOf(check: () => unknown): readonly string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.problems;
  }
}

/** The settings as they may be shown: no secret, no token, no password of a URL. */
export function maskConfig(config: Config): Record<string, unknown> {
  const kept = Object.entries(config.retentionMonths)
    .map(([name, months]) => `${name}: ${months ?? 'all'}`)
    .join(', ');
  return {
    database: config.databaseUrl === undefined ? 'embedded' : maskUrl(config.databaseUrl),
    queue:
      config.redisUrl === undefined
        ? 'in Postgres'
        : `${maskRedisUrl(config.redisUrl)}, prefix ${config.queuePrefix}`,
    dataDir: config.dataDir,
    anchors: describeAnchors(config.anchors),
    listen: `${config.tls === undefined ? 'http' : 'https'}://${config.host}:${config.port}`,
    admin: `${config.admin.host}:${config.admin.port}, ${config.admin.token === undefined ? 'this machine only' : 'with token'}`,
    openIdConnect: config.openId && describeOpenId(config.openId),
    consoleUrl: config.openId?.consoleUrl,
    publicUrl: config.publicUrl,
    sources: config.sources.map(describeSource),
    subscribe: config.subscribe,
    history: config.history,
    inventory: config.inventory,
    durability: config.durability,
    strict: config.durability === 'strict' ? config.strict : undefined,
    spool: `at most ${formatBytes(config.spool.maxBytes)}, ${formatBytes(config.spool.minFreeBytes)} left free`,
    maxBodyBytes: config.maxBodyBytes,
    maxBytesInFlight: config.maxBytesInFlight,
    trustedProxies: config.trustedProxies,
    storesOthers: config.storesOthers,
    retentionMonths: kept,
    archive: describeArchive(config.archive),
    quarantine: `at most ${config.quarantine.maxBytes} bytes for each source, months: ${config.quarantine.months ?? 'all'}`,
    destinations: destinationNames(config.forwarding),
    traces: config.traces,
    drainSeconds: config.drainSeconds,
    migrates: config.migrates,
    logLevel: config.logLevel,
  };
}

function describeAnchors({ file, url, timestampUrl, witnesses }: Config['anchors']): readonly string[] {
  return [file, url && new URL(url).origin, timestampUrl, ...witnesses.map((witness) => witness.url)].filter(
    (one) => one !== undefined,
  );
}

function describeArchive({ s3, ...archive }: Config['archive']) {
  if (s3 === undefined) return archive;
  const at = s3.endpoint === undefined ? '' : ` at ${s3.endpoint}`;
  return { ...archive, s3: `s3://${s3.bucket}/${s3.prefix}${at}` };
}

function describeSource({ name, secrets, cloud, messageTypes }: SourceConfig): string {
  const access = cloud !== undefined && 'apiToken' in cloud.credentials ? 'API token' : 'user name';
  const api = cloud === undefined ? 'no API' : `${cloud.apiUrl} with ${access}`;
  return `${name} (${countOf(secrets.length, 'secret')}, ${countOf(messageTypes.length, 'message type')}, ${api})`;
}

function maskUrl(text: string): string {
  const url = new URL(text);
  if (url.password !== '') url.password = '***';
  if (url.searchParams.has('password')) url.searchParams.set('password', '***');
  return url.href;
}

/** Settings that are right one by one and contradict each other. */
function contradictions(settings: EnvironmentSettings, sources: readonly SourceConfig[]): string[] {
  const { PUBLIC_URL: publicUrl, SUBSCRIBE: subscribe } = settings;
  const apis = sources.flatMap(({ cloud }) => (cloud === undefined ? [] : [cloud.apiUrl]));
  const isAllHere = apis.length > 0 && apis.every((api) => isLoopback(new URL(api)));
  return [
    publicUrl?.startsWith('http:') === true &&
      !isAllHere &&
      `PUBLIC_URL must be an https:// address, since the cloud is not on this machine (got "${publicUrl}")`,
    settings.DATABASE_DIRECT_URL !== undefined &&
      settings.DATABASE_URL === undefined &&
      'DATABASE_DIRECT_URL needs DATABASE_URL: it is the address of the same database without the pooler',
    settings.MIGRATION_DATABASE_URL !== undefined &&
      settings.DATABASE_URL === undefined &&
      'MIGRATION_DATABASE_URL needs DATABASE_URL: the embedded database has its own role for migrations',
    settings.READER_DATABASE_URL !== undefined &&
      settings.DATABASE_URL === undefined &&
      'READER_DATABASE_URL needs DATABASE_URL: the embedded database has its own reader',
    settings.BOOTSTRAP_DATABASE_URL !== undefined &&
      (settings.DATABASE_URL === undefined || settings.READER_DATABASE_URL === undefined) &&
      'BOOTSTRAP_DATABASE_URL needs DATABASE_URL and READER_DATABASE_URL: they name the roles to create',
    subscribe === 'auto' &&
      (publicUrl === undefined || apis.length === 0) &&
      'SUBSCRIBE=auto needs PUBLIC_URL and CLOUD_API_URL',
    settings.ADMIN_TOKEN === undefined &&
      !isLoopbackHost(settings.ADMIN_HOST) &&
      `ADMIN_HOST needs ADMIN_TOKEN if it is not this machine (got "${settings.ADMIN_HOST}"; try: openssl rand -hex 32)`,
    settings.MAX_BYTES_IN_FLIGHT !== undefined &&
      settings.MAX_BYTES_IN_FLIGHT < settings.MAX_BODY_BYTES &&
      `MAX_BYTES_IN_FLIGHT (${settings.MAX_BYTES_IN_FLIGHT}) must be at least MAX_BODY_BYTES (${settings.MAX_BODY_BYTES})`,
    settings.REDIS_CA_FILE !== undefined &&
      settings.REDIS_URL?.startsWith('rediss') !== true &&
      'REDIS_CA_FILE needs a REDIS_URL that begins with rediss',
    settings.ARCHIVE_S3 === undefined &&
      (settings.ARCHIVE_S3_ENDPOINT ?? settings.ARCHIVE_S3_KEY_ID) !== undefined &&
      'ARCHIVE_S3_ENDPOINT and ARCHIVE_S3_KEY_ID need ARCHIVE_S3: they belong to its bucket',
    (settings.ARCHIVE_S3_KEY_ID === undefined) !== (settings.ARCHIVE_S3_SECRET === undefined) &&
      'ARCHIVE_S3_KEY_ID and ARCHIVE_S3_SECRET must be set together',
    settings.PORT !== 0 &&
      settings.PORT === settings.ADMIN_PORT &&
      overlap(settings.HOST, settings.ADMIN_HOST) &&
      `PORT and ADMIN_PORT must differ (both are ${settings.PORT})`,
  ].filter((problem) => problem !== false);
}

function overlap(host: string, other: string): boolean {
  const isEverywhere = [host, other].some((one) => one === '0.0.0.0' || one === '::');
  return isEverywhere || host === other || (isLoopbackHost(host) && isLoopbackHost(other));
}
