import path from 'node:path';
import { destinationNames, readForwarding } from './config/destinations.ts';
import type { ForwardingSettings } from './config/destinations.ts';
import { readEnvironment } from './config/environment.ts';
import type { Environment } from './config/environment.ts';
import { readSettingsFile } from './config/settings-file.ts';
import { mergeSources } from './config/sources.ts';
import type { SourceConfig } from './config/sources.ts';
import { FAMILIES } from './domain.ts';
import type { Family } from './domain.ts';
import { UsageError } from './errors.ts';
import { isLoopback, isLoopbackHost } from './loopback.ts';

export type { SourceConfig };

/** Everything the settings decide, checked and frozen. */
export interface Config {
  /** Undefined: the embedded Postgres under `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Undefined: the queue is in Postgres. */
  readonly redisUrl: string | undefined;
  /** Absolute path. */
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Where console, API and metrics are; undefined token: everybody on this machine may. */
  readonly admin: { readonly host: string; readonly port: number; readonly token: string | undefined };
  readonly sources: readonly SourceConfig[];
  /** The address that the cloud reaches us at, without a trailing slash; may have a path prefix. */
  readonly publicUrl: string | undefined;
  /** What `serve` does about subscriptions that are not as these settings say. */
  readonly subscribe: Environment['SUBSCRIBE'];
  /** `strict`: every delivery is in the spool until its rows are committed. */
  readonly durability: Environment['DURABILITY'];
  /** Of the disk spool, which is in `dataDir`. */
  readonly spool: { readonly maxBytes: number; readonly minFreeBytes: number };
  readonly maxBodyBytes: number;
  /** Bytes of deliveries in hand above which no further one is let in. */
  readonly maxBytesInFlight: number;
  /** The proxies whose word about a sender's address is taken: how many there are, or which. Undefined: none. */
  readonly trustedProxies: number | readonly string[] | undefined;
  /** Months an event is kept, by family; undefined keeps all. */
  readonly retentionMonths: Readonly<Record<Family, number | undefined>>;
  readonly forwarding: ForwardingSettings;
  /** Where traces go, and the share of deliveries that is traced. Undefined: nowhere. */
  readonly traces:
    { readonly endpoint: string; readonly serviceName: string; readonly ratio: number } | undefined;
  readonly logLevel: string;
}

/**
 * Reads the settings from the environment and from the file that `XIQ_SINK_CONFIG` names.
 * Throws one UsageError that lists every wrong setting with what it got and what it takes.
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const settings = readEnvironment(env, problems);
  const file = readSettingsFile(env['XIQ_SINK_CONFIG'] || undefined, problems);
  const sources = mergeSources(settings, file, problems);
  const forwarding = readForwarding(settings, file, env, problems);
  if (settings !== undefined) problems.push(...contradictions(settings, sources));
  if (settings === undefined || problems.length > 0) {
    throw new UsageError(`wrong settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
  return Object.freeze({
    databaseUrl: settings.DATABASE_URL,
    redisUrl: settings.REDIS_URL,
    dataDir: path.resolve(settings.DATA_DIR),
    host: settings.HOST,
    port: settings.PORT,
    tls:
      settings.TLS_CERT_FILE !== undefined && settings.TLS_KEY_FILE !== undefined
        ? { certFile: settings.TLS_CERT_FILE, keyFile: settings.TLS_KEY_FILE }
        : undefined,
    admin: { host: settings.ADMIN_HOST, port: settings.ADMIN_PORT, token: settings.ADMIN_TOKEN },
    sources,
    publicUrl: settings.PUBLIC_URL,
    subscribe: settings.SUBSCRIBE,
    durability: settings.DURABILITY,
    spool: { maxBytes: settings.SPOOL_MAX_BYTES, minFreeBytes: settings.SPOOL_MIN_FREE_BYTES },
    maxBodyBytes: settings.MAX_BODY_BYTES,
    maxBytesInFlight: settings.MAX_BYTES_IN_FLIGHT,
    trustedProxies: settings.TRUST_PROXY,
    retentionMonths: {
      audit: settings.RETENTION_AUDIT_MONTHS,
      location: settings.RETENTION_LOCATION_MONTHS,
      log: settings.RETENTION_LOG_MONTHS,
    },
    forwarding,
    traces:
      settings.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
        ? undefined
        : {
            endpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
            serviceName: settings.OTEL_SERVICE_NAME,
            ratio: settings.OTEL_TRACES_SAMPLER_ARG,
          },
    logLevel: settings.LOG_LEVEL,
  });
}

/** The settings as they may be shown: no secret, no token, no password of a URL. */
export function maskConfig(config: Config): Record<string, unknown> {
  const kept = FAMILIES.map((family) => `${family}: ${config.retentionMonths[family] ?? 'all'}`).join(', ');
  return {
    database: config.databaseUrl === undefined ? 'embedded' : maskUrl(config.databaseUrl),
    queue: config.redisUrl === undefined ? 'in Postgres' : maskUrl(config.redisUrl),
    dataDir: config.dataDir,
    listen: `${config.tls === undefined ? 'http' : 'https'}://${config.host}:${config.port}`,
    admin: `${config.admin.host}:${config.admin.port}, ${config.admin.token === undefined ? 'for this machine' : 'by token'}`,
    publicUrl: config.publicUrl,
    sources: config.sources.map(describeSource),
    subscribe: config.subscribe,
    durability: config.durability,
    spool: `at most ${config.spool.maxBytes} bytes, ${config.spool.minFreeBytes} left free`,
    maxBodyBytes: config.maxBodyBytes,
    maxBytesInFlight: config.maxBytesInFlight,
    trustedProxies: config.trustedProxies,
    retentionMonths: kept,
    destinations: destinationNames(config.forwarding),
    traces: config.traces,
    logLevel: config.logLevel,
  };
}

function describeSource({ name, secrets, cloud, messageTypes }: SourceConfig): string {
  const access = cloud !== undefined && 'apiToken' in cloud.credentials ? 'API token' : 'login';
  const api = cloud === undefined ? 'no API' : `${cloud.apiUrl} by ${access}`;
  return `${name} (${secrets.length} secrets, ${messageTypes.length} message types, ${api})`;
}

function maskUrl(text: string): string {
  const url = new URL(text);
  if (url.password !== '') url.password = '***';
  if (url.searchParams.has('password')) url.searchParams.set('password', '***');
  return url.href;
}

/** What is wrong with settings that are right one by one. */
function contradictions(settings: Environment, sources: readonly SourceConfig[]): string[] {
  const { PUBLIC_URL: publicUrl, SUBSCRIBE: subscribe } = settings;
  const apis = sources.flatMap(({ cloud }) => (cloud === undefined ? [] : [cloud.apiUrl]));
  const isAllHere = apis.length > 0 && apis.every((api) => isLoopback(new URL(api)));
  return [
    publicUrl?.startsWith('http:') === true &&
      !isAllHere &&
      `PUBLIC_URL takes an https:// address, since the cloud is not on this machine (got "${publicUrl}")`,
    subscribe === 'auto' &&
      (publicUrl === undefined || apis.length === 0) &&
      'SUBSCRIBE auto needs PUBLIC_URL and CLOUD_API_URL',
    settings.ADMIN_TOKEN === undefined &&
      !isLoopbackHost(settings.ADMIN_HOST) &&
      `ADMIN_HOST off this machine needs ADMIN_TOKEN (got "${settings.ADMIN_HOST}"; try: openssl rand -hex 32)`,
    settings.MAX_BYTES_IN_FLIGHT < settings.MAX_BODY_BYTES &&
      `MAX_BYTES_IN_FLIGHT (${settings.MAX_BYTES_IN_FLIGHT}) is less than one body may have, MAX_BODY_BYTES (${settings.MAX_BODY_BYTES})`,
  ].filter((problem) => problem !== false);
}
