import { readFileSync } from 'node:fs';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { describeError } from '../errors.ts';
import { bearerToken, cloudApiUrl, messageTypes, webhookSecret } from './setting-types.ts';

const settingsFileSchema = z.strictObject({
  sources: z
    .array(
      z.strictObject({
        name: z
          .string()
          .regex(
            /^[a-z0-9][a-z0-9_-]{0,62}$/,
            'takes lower-case letters, digits, - and _ (it stands in the URL)',
          ),
        webhook_secrets: z.array(webhookSecret).min(1, 'takes at least one secret'),
        cloud: z
          .strictObject({
            api_url: cloudApiUrl,
            api_token: bearerToken.optional(),
            username: z.string().optional(),
            password: z.string().optional(),
          })
          .optional(),
        message_types: messageTypes.optional(),
      }),
    )
    .default([]),
  /** What else a destination may say depends on its type, which the forwarder knows. */
  destinations: z
    .array(
      z.looseObject({
        name: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'takes lower-case letters, digits, - and _'),
      }),
    )
    .default([]),
  redaction: z.unknown().optional(),
});

export type SettingsFile = z.output<typeof settingsFileSchema>;

/**
 * Reads the YAML file of several sources and destinations. Empty when there is none, and when it is wrong: then `problems` has gained
 * a line for each fault, which says where it is and never quotes the file, since it holds secrets.
 */
export function readSettingsFile(file: string | undefined, problems: string[]): SettingsFile {
  const empty: SettingsFile = { sources: [], destinations: [], redaction: undefined };
  if (file === undefined) return empty;
  try {
    const content: unknown = parseYaml(readFileSync(file, 'utf8'), { logLevel: 'error' });
    const { data, error } = settingsFileSchema.safeParse(content ?? {});
    for (const { path, message } of error?.issues ?? []) {
      problems.push(`XIQ_SINK_CONFIG ${file}: ${path.join('.') || 'the file'}: ${message}`);
    }
    return data ?? empty;
  } catch (error) {
    problems.push(`XIQ_SINK_CONFIG ${file}: cannot be read as YAML: ${describeUnread(error)}`);
    return empty;
  }
}

/** Where the mistake is and of which kind. The parser's own message quotes the text around it, secrets and all. */
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
