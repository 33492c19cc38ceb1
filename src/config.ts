import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { FAMILIES } from './domain.ts';
import type { Family } from './domain.ts';
import { describeError, UsageError } from './errors.ts';

/** A cloud account that sends to us, with the secrets its deliveries may carry. */
export interface SourceConfig {
  readonly name: string;
  /** Every one is accepted. Empty only before `serve` has generated the default source's own. */
  readonly secrets: readonly string[];
}

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
  readonly sources: readonly SourceConfig[];
  readonly maxBodyBytes: number;
  /** Months an event is kept, by family; undefined keeps all. */
  readonly retentionMonths: Readonly<Record<Family, number | undefined>>;
  readonly logLevel: string;
}

/** The source that `WEBHOOK_SECRET` belongs to. */
const DEFAULT_SOURCE = 'default';

/** A secret shorter than this can be guessed by trying. */
const MIN_SECRET_LENGTH = 16;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `takes a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `takes a whole number from ${min} to ${max}`);

const urlOf = (...protocols: string[]) =>
  z
    .string()
    .refine(
      (text) => protocols.includes(URL.parse(text)?.protocol ?? ''),
      `takes a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    );

const secret = z
  .string()
  .min(
    MIN_SECRET_LENGTH,
    `takes secrets of at least ${MIN_SECRET_LENGTH} characters (try: openssl rand -hex 32)`,
  )
  .regex(/^[\u0021-\u007e]+$/, 'takes secrets of printable ASCII characters without spaces');

const retention = integer(1, 1200).optional();

const Environment = z.object({
  DATABASE_URL: urlOf('postgres:', 'postgresql:').optional(),
  REDIS_URL: urlOf('redis:', 'rediss:').optional(),
  DATA_DIR: z.string().default('./data'),
  HOST: z.string().default('0.0.0.0'),
  PORT: integer(0, 65_535).default(8080),
  TLS_CERT_FILE: z.string().optional(),
  TLS_KEY_FILE: z.string().optional(),
  WEBHOOK_SECRET: z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(secret))
    .optional(),
  MAX_BODY_BYTES: integer(1024, 256 * 1024 * 1024).default(10 * 1024 * 1024),
  RETENTION_AUDIT_MONTHS: retention,
  RETENTION_LOCATION_MONTHS: retention,
  RETENTION_LOG_MONTHS: retention,
  LOG_LEVEL: z.enum(LOG_LEVELS, `takes one of ${LOG_LEVELS.join(', ')}`).default('info'),
  XIQ_SINK_CONFIG: z.string().optional(),
});

const SettingsFile = z.strictObject({
  sources: z
    .array(
      z.strictObject({
        name: z
          .string()
          .regex(
            /^[a-z0-9][a-z0-9_-]{0,62}$/,
            'takes lower-case letters, digits, - and _ (it stands in the URL)',
          ),
        webhook_secrets: z.array(secret).min(1, 'takes at least one secret'),
      }),
    )
    .default([]),
});

type SettingsFile = z.infer<typeof SettingsFile>;

/** The parser prints its warnings itself, with the lines they are about: those may hold a secret. */
const YAML_OPTIONS = { logLevel: 'error' } as const;

/** Settings whose value is itself secret: a problem with one never shows what it got. */
const SECRET_SETTINGS = new Set(['WEBHOOK_SECRET', 'DATABASE_URL', 'REDIS_URL']);

/**
 * Reads the settings from the environment and from the file that `XIQ_SINK_CONFIG` names.
 * Throws one UsageError that lists every wrong setting with what it got and what it takes.
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const environment = Environment.safeParse(set);
  const problems = environment.success ? [] : environmentProblems(environment.error, set);
  const file = readSettingsFile(set['XIQ_SINK_CONFIG'], problems);
  if ((set['TLS_CERT_FILE'] === undefined) !== (set['TLS_KEY_FILE'] === undefined)) {
    problems.push('TLS_CERT_FILE and TLS_KEY_FILE: set both or neither');
  }
  const sources = mergeSources(environment.data?.WEBHOOK_SECRET, file, problems);
  if (!environment.success || problems.length > 0) {
    throw new UsageError(`wrong settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
  const settings = environment.data;
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
    sources,
    maxBodyBytes: settings.MAX_BODY_BYTES,
    retentionMonths: {
      audit: settings.RETENTION_AUDIT_MONTHS,
      location: settings.RETENTION_LOCATION_MONTHS,
      log: settings.RETENTION_LOG_MONTHS,
    },
    logLevel: settings.LOG_LEVEL,
  });
}

/** The settings as they may be shown: no secret, no password of a URL. */
export function maskConfig(config: Config): Record<string, unknown> {
  const kept = FAMILIES.map((family) => `${family}: ${config.retentionMonths[family] ?? 'all'}`).join(', ');
  return {
    database: config.databaseUrl === undefined ? 'embedded' : maskUrl(config.databaseUrl),
    queue: config.redisUrl === undefined ? 'in Postgres' : maskUrl(config.redisUrl),
    dataDir: config.dataDir,
    listen: `${config.tls === undefined ? 'http' : 'https'}://${config.host}:${config.port}`,
    sources: config.sources.map(({ name, secrets }) => `${name} (${secrets.length} secrets)`),
    maxBodyBytes: config.maxBodyBytes,
    retentionMonths: kept,
    logLevel: config.logLevel,
  };
}

function maskUrl(text: string): string {
  const url = new URL(text);
  if (url.password !== '') url.password = '***';
  if (url.searchParams.has('password')) url.searchParams.set('password', '***');
  return url.href;
}

function environmentProblems(error: z.ZodError, set: Record<string, string | undefined>): string[] {
  return error.issues.map(({ path: [name], message }) => {
    const setting = String(name);
    const got = SECRET_SETTINGS.has(setting) ? '' : ` (got ${JSON.stringify(set[setting])})`;
    return `${setting} ${message}${got}`;
  });
}

function readSettingsFile(file: string | undefined, problems: string[]): SettingsFile {
  const empty: SettingsFile = { sources: [] };
  if (file === undefined) return empty;
  try {
    const parsed = SettingsFile.safeParse(parseYaml(readFileSync(file, 'utf8'), YAML_OPTIONS) ?? {});
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) {
      problems.push(`XIQ_SINK_CONFIG ${file}: ${issue.path.join('.') || 'the file'}: ${issue.message}`);
    }
  } catch (error) {
    problems.push(`XIQ_SINK_CONFIG ${file}: cannot be read as YAML: ${describeYamlError(error)}`);
  }
  return empty;
}

/** Where the mistake is and of which kind. The parser's own message quotes the text around it, secrets and all. */
function describeYamlError(error: unknown): string {
  if (error instanceof YAMLParseError) {
    const { line, col } = error.linePos?.[0] ?? { line: '?', col: '?' };
    return `line ${line}, column ${col}: ${error.code}`;
  }
  const isSystemError = error instanceof Error && 'syscall' in error;
  return isSystemError
    ? describeError(error)
    : 'an alias (*name) has no anchor; quote a value that begins with *';
}

function mergeSources(
  defaultSecrets: readonly string[] | undefined,
  file: SettingsFile,
  problems: string[],
): readonly SourceConfig[] {
  const sources = file.sources.map(({ name, webhook_secrets }) => ({ name, secrets: webhook_secrets }));
  const names = new Set(sources.map(({ name }) => name));
  if (names.size < sources.length) problems.push('XIQ_SINK_CONFIG: two sources have the same name');
  if (defaultSecrets !== undefined && names.has(DEFAULT_SOURCE)) {
    problems.push(
      `WEBHOOK_SECRET: the file's source "${DEFAULT_SOURCE}" has secrets of its own; set one of the two`,
    );
  }
  const needsDefault = defaultSecrets !== undefined || sources.length === 0;
  return needsDefault && !names.has(DEFAULT_SOURCE)
    ? [{ name: DEFAULT_SOURCE, secrets: defaultSecrets ?? [] }, ...sources]
    : sources;
}
