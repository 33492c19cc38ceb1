import { z } from 'zod';
import type { CloudType } from '../events/domain.ts';
import { openSecret, type SecretsKey } from '../config/sealed-secret.ts';
import { resolveReferences, type Environment } from '../config/references.ts';
import { sourceSchema } from '../config/settings-file.ts';
import { sourceOf, type SourceConfig } from '../config/sources.ts';
import { isLoopback } from '../lib/loopback.ts';
import { privateRangeOf } from '../lib/public-addresses.ts';

/** A secret in the environment, in a file, or encrypted in the database. */
const secretReference = z.union([
  z.strictObject({ env: z.string() }),
  z.strictObject({ file: z.string() }),
  z.strictObject({ sealed: z.string() }),
]);

export type SecretReference = z.infer<typeof secretReference>;

/** The other members are checked as those of the settings file are, once the references are resolved. */
export const sourceDefinition = z.looseObject({
  webhook_secrets: z.array(secretReference).min(1),
  cloud: z
    .strictObject({
      api_url: z.string(),
      api_token: secretReference.optional(),
      username: z.string().optional(),
      password: secretReference.optional(),
    })
    .optional(),
  message_types: z.array(z.string()).optional(),
  limits: z
    .strictObject({ deliveries_per_second: z.number().optional(), bytes_per_second: z.number().optional() })
    .optional(),
});

export type SourceDefinition = z.infer<typeof sourceDefinition>;

/** A source in the database, as it is kept there: secrets are references, or encrypted. */
export const storedSource = z.object({
  name: z.string(),
  /** The members of a source in the settings file, except its name. */
  definition: sourceDefinition,
  /** When all secrets but the first one end. Null: they stay. */
  oldSecretsUntil: z.coerce.date().nullable(),
  isDisabled: z.boolean(),
});

export type StoredSource = Readonly<z.infer<typeof storedSource>>;

/** What the sources of the database refer to, and what they leave to the settings. */
export interface SourceContext {
  readonly variables: Environment;
  readonly secretsKeys: readonly SecretsKey[];
  readonly messageTypes: readonly CloudType[];
}

/** What a secret of this source is encrypted for: in the row of another source it cannot be opened. */
export const subjectOf = (source: string) => `source ${source}`;

/** Whether the time of the old secrets is over. */
export const hasEndedOldSecrets = ({ oldSecretsUntil }: StoredSource, now: number) =>
  oldSecretsUntil !== null && oldSecretsUntil.getTime() <= now;

/**
 * Reads a source of the database with the texts that it refers to. `problems` gains a line for each fault, which quotes
 * no secret. A secret that this process cannot read is left out, and the source is undefined if none is left. The
 * subscriptions of a source with any problem are not managed: they might get a secret that was replaced. Its API must be
 * on the public internet, unless a source of the settings has the same address.
 */
export function readStoredSource(
  stored: StoredSource,
  { variables, secretsKeys, messageTypes }: SourceContext,
  now: number,
  problems: string[],
  settings: readonly SourceConfig[] = [],
): SourceConfig | undefined {
  const { name, definition } = stored;
  const own: string[] = [];
  const read = (value: unknown, at: string) =>
    resolveReferences(
      value,
      variables,
      (path, reason) => own.push(`${[at, ...path].join('.')}: ${reason}`),
      [],
      (sealed) => openSecret(sealed, subjectOf(name), secretsKeys),
    );
  const secrets = definition.webhook_secrets
    .slice(0, hasEndedOldSecrets(stored, now) ? 1 : undefined)
    .map((secret, index) => read(secret, `webhook_secrets.${index}`))
    .filter((text) => text !== '');
  const cloud = read(definition.cloud, 'cloud');
  const api = URL.parse(definition.cloud?.api_url ?? '');
  const publicOnly = !settings.some(({ cloud: known }) => known?.apiUrl === definition.cloud?.api_url);
  // What a name resolves to is checked at each call.
  if (publicOnly && api !== null && (isLoopback(api) || privateRangeOf(api.hostname) !== undefined)) {
    own.push(
      'cloud.api_url must be a public internet address: only the settings may contain other addresses',
    );
  }
  const isComplete = own.length === 0;
  let source: SourceConfig | undefined;
  if (secrets.length > 0) {
    const given = { ...definition, name, webhook_secrets: secrets, cloud: isComplete ? cloud : undefined };
    const { data, error } = sourceSchema.safeParse(given);
    for (const { path, message } of error?.issues ?? []) own.push(`${path.join('.')}: ${message}`);
    const made = data && sourceOf(data, 'settings', messageTypes, own);
    source = made?.cloud === undefined ? made : { ...made, cloud: { ...made.cloud, publicOnly } };
  }
  problems.push(...own.map((problem) => `source "${name}": ${problem}`));
  return source;
}
