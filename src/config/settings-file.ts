import { readFileSync } from 'node:fs';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { describeError } from '../lib/errors.ts';
import { isMissingFile } from '../lib/files/durable-file.ts';
import { resolveReferences, type Environment } from './references.ts';
import {
  bearerToken,
  cloudApiUrl,
  messageTypes,
  plainProblems,
  settingName,
  strictSettings,
  webhookSecret,
} from './setting-types.ts';

/** The members of the file; each is checked by itself, so that all that is wrong is reported at once. */
const fileSchema = strictSettings({
  sources: z.unknown().optional(),
  destinations: z.unknown().optional(),
  redaction: z.unknown().optional(),
  alerts: z.unknown().optional(),
  reports: z.unknown().optional(),
});

const perSecond = z
  .int()
  .min(1)
  .max(2 ** 40)
  .optional();

const sourceLimits = strictSettings({
  deliveries_per_second: perSecond,
  bytes_per_second: perSecond,
}).transform((limits) => ({
  deliveriesPerSecond: limits.deliveries_per_second,
  bytesPerSecond: limits.bytes_per_second,
}));

/** What a source may send to one ingest process: deliveries, and bytes of bodies as sent. Undefined: no limit. */
export type SourceLimits = z.output<typeof sourceLimits>;

/** A source as the file describes it, and as the database does, with the texts that its references refer to. */
export const sourceSchema = strictSettings({
  name: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9_-]{0,62}$/,
      'must be lower-case letters, digits, - and _ (it is part of the URL)',
    ),
  webhook_secrets: z.array(webhookSecret).min(1, 'must contain at least one secret'),
  cloud: strictSettings({
    api_url: cloudApiUrl,
    api_token: bearerToken.optional(),
    username: z.string().optional(),
    password: z.string().optional(),
  }).optional(),
  message_types: messageTypes.optional(),
  limits: sourceLimits.optional(),
});

const sourcesSchema = z.array(sourceSchema).default([]);

/** The other options of a destination depend on its type, which the forwarder knows. */
const destinationsSchema = z.array(z.looseObject({ name: settingName })).default([]);

/** The settings file, with the texts that its references refer to. */
export interface SettingsFile {
  readonly sources: z.output<typeof sourcesSchema>;
  readonly destinations: z.output<typeof destinationsSchema>;
  /** What to redact in events before they are sent. Undefined: the default rules. */
  readonly redaction?: unknown;
  readonly alerts?: unknown;
  readonly reports?: unknown;
}

/**
 * Reads the YAML file of sources and destinations. A part that is missing or wrong is empty; `problems` gains a line for
 * each fault, which says where it is. The lines quote nothing of the file, since it contains secrets.
 */
export function readSettingsFile(
  file: string | undefined,
  env: Environment,
  problems: string[],
): SettingsFile {
  const empty: SettingsFile = { sources: [], destinations: [] };
  if (file === undefined) return empty;
  const report = (path: readonly PropertyKey[], message: string) =>
    problems.push(`XIQ_SINK_CONFIG ${file}: ${path.join('.') || 'the file'}: ${message}`);

  /** Checks one part of the file. Undefined if anything in it is wrong, which is reported once. */
  function check<T>(name: string, schema: z.ZodType<T>, given: unknown): T | undefined {
    const missing = new Set<string>();
    const resolved = resolveReferences(given, env, (path, reason) => {
      missing.add(path.join('.'));
      report([name, ...path], reason);
    });
    const { data, error } = schema.safeParse(resolved, plainProblems);
    for (const { path, message } of error?.issues ?? []) {
      if (!missing.has(path.join('.'))) report([name, ...path], message);
    }
    return missing.size === 0 ? data : undefined;
  }

  try {
    const content: unknown = parseYaml(readFileSync(file, 'utf8'), { logLevel: 'error' });
    const { data, error } = fileSchema.safeParse(content ?? {}, plainProblems);
    for (const { path, message } of error?.issues ?? []) report(path, message);
    const given = data ?? knownMembers(content);
    return {
      ...given,
      sources: check('sources', sourcesSchema, given.sources) ?? [],
      destinations: check('destinations', destinationsSchema, given.destinations) ?? [],
    };
  } catch (error) {
    const what = isMissingFile(error)
      ? 'there is no such file'
      : `cannot be read as YAML: ${describeUnread(error)}`;
    problems.push(`XIQ_SINK_CONFIG ${file}: ${what}`);
    return empty;
  }
}

/** The members of a file that also has unknown ones; none if it is no mapping. */
function knownMembers(content: unknown): z.output<typeof fileSchema> {
  return z.object(fileSchema.shape).catch({}).parse(content);
}

/** Where the mistake is and of which kind. The parser's own message quotes the text around it, secrets included. */
function describeUnread(error: unknown): string {
  if (error instanceof YAMLParseError) {
    const { line, col } = error.linePos?.[0] ?? { line: '?', col: '?' };
    return `line ${line}, column ${col}: ${error.code}`;
  }
  const isSystemError = error instanceof Error && 'syscall' in error;
  return isSystemError
    ? describeError(error)
    : 'an alias (*name) has no anchor; quote a value that begins with *';
}
