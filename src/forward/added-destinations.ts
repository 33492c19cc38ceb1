import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { ForwardingSettings } from '../config/destinations.ts';
import { openSecret, sealedReference, type SecretsKey } from '../config/sealed-secret.ts';
import { describeError, UsageError } from '../lib/errors.ts';
import type { AddedOutput } from '../store/destinations/added-outputs.ts';
import { COMMON_OPTIONS, parseAddedDestination, type Destination } from './parse-destinations.ts';

/** What is needed to read the destinations that were added to the database. */
export interface AddedContext {
  readonly forwarding: Pick<ForwardingSettings, 'redaction'>;
  readonly secretsKeys: readonly SecretsKey[];
}

/** The options of a destination, as in the settings file. */
export type Options = AddedOutput['definition'];

/** The members that are secret, wherever they are. All headers are: any of them may contain a credential. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  'api_key',
  'client_secret',
  'headers',
  'key',
  'password',
  'secret_access_key',
  'session_token',
  'signing_secret',
  'token',
]);

/** The types whose whole address is a credential. */
const SECRET_ADDRESSES: ReadonlySet<unknown> = new Set(['chat', 'https']);

/** Whether the option of a type at this path is a secret. */
export const isSecret = (type: unknown, path: readonly string[]): boolean =>
  path.some((name) => SECRET_MEMBERS.has(name)) || (path[0] === 'url' && SECRET_ADDRESSES.has(type));

const sealedSchema = z.strictObject({ sealed: z.string() });

const isRecord = (value: unknown): value is Options =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The options with each secret, a text or an encrypted one, replaced. */
export function mapSecrets(
  options: Options,
  replace: (secret: string | { readonly sealed: string }, path: readonly string[]) => unknown,
): Options {
  const mapMembers = (members: Options, above: readonly string[]): Options =>
    Object.fromEntries(
      Object.entries(members).map(([name, inner]) => [name, mapValue(inner, [...above, name])]),
    );
  function mapValue(value: unknown, path: readonly string[]): unknown {
    const secret = isSecret(options['type'], path)
      ? z.union([z.string(), sealedSchema]).safeParse(value).data
      : undefined;
    if (secret !== undefined) return replace(secret, path);
    return isRecord(value) ? mapMembers(value, path) : value;
  }
  return mapMembers(options, []);
}

/** The options without secrets, to be shown and recorded. */
export function withoutSecrets(options: Options): Options {
  return z
    .record(z.string(), z.unknown())
    .parse(JSON.parse(JSON.stringify(mapSecrets(options, () => undefined))));
}

/**
 * What was entered for a destination, with the stored secrets if all were left empty. Throws a UsageError if an option of
 * the connection changes: a secret must not go to another receiver than the one that it was entered for.
 */
export function keepSecrets(given: Options, stored: Options): Options {
  const kept = keepMembers(given, stored, (path) => isSecret(stored['type'], path));
  if (isDeepStrictEqual(kept, given)) return given;
  const isSame = isDeepStrictEqual(connectionOf(given), connectionOf(stored));
  if (isSame && isDeepStrictEqual(withoutSecrets(given), given)) return kept;
  throw new UsageError(
    'enter all credentials again: they are kept only if the connection and all credentials stay the same',
  );
}

function keepMembers(
  given: Options,
  stored: Options,
  isKept: (path: readonly string[]) => boolean,
  above: readonly string[] = [],
): Options {
  const members = { ...given };
  for (const [name, inner] of Object.entries(stored)) {
    const path = [...above, name];
    const own = given[name];
    if (isKept(path) && sealedSchema.safeParse(inner).success) members[name] = own ?? inner;
    else if (isRecord(inner)) {
      const merged = keepMembers(isRecord(own) ? own : {}, inner, isKept, path);
      if (Object.keys(merged).length > 0) members[name] = merged;
    }
  }
  return members;
}

/** The options that say where events are sent, and how. */
const connectionOf = (options: Options) =>
  Object.fromEntries(
    Object.entries(withoutSecrets(options)).filter(
      ([name, value]) => name === 'type' || (!COMMON_OPTIONS.includes(name) && !isDeepStrictEqual(value, {})),
    ),
  );

/** What a secret of this destination is encrypted for: in the row of another one it cannot be opened. */
const subjectOf = (name: string) => `destination ${name}`;

/** The options as they are stored: secrets are encrypted. Throws a UsageError if there is a secret, but no key. */
export const sealOptions = (name: string, options: Options, keys: readonly SecretsKey[]): Options =>
  mapSecrets(options, (secret) =>
    typeof secret === 'string'
      ? sealedReference(secret, subjectOf(name), keys, 'define the destination in the settings')
      : secret,
  );

/** The options with their secrets as texts. `problems` gains a line for each that cannot be opened. */
export function openOptions(
  { name, definition }: Pick<AddedOutput, 'name' | 'definition'>,
  keys: readonly SecretsKey[],
  problems: string[],
): Options {
  return mapSecrets(definition, (secret, path) => {
    if (typeof secret === 'string') return secret;
    try {
      return openSecret(secret.sealed, subjectOf(name), keys);
    } catch (error) {
      problems.push(`destination "${name}": ${path.join('.')}: ${describeError(error)}`);
      return '';
    }
  });
}

/** Reads an added destination. Undefined with any problem, of which `problems` gains a line without a secret. */
export function readAdded(
  added: Pick<AddedOutput, 'name' | 'definition'>,
  { forwarding, secretsKeys }: AddedContext,
  problems: string[],
): Destination | undefined {
  const before = problems.length;
  const options = openOptions(added, secretsKeys, problems);
  return problems.length > before
    ? undefined
    : parseAddedDestination(added.name, options, forwarding.redaction, problems);
}

/** The destinations of the settings, and those that were added to the database. */
export function joinDestinations(
  settings: AddedContext & { readonly destinations: readonly Destination[] },
  outputs: readonly AddedOutput[],
) {
  const problems: string[] = [];
  const inSettings = new Set(settings.destinations.map(({ name }) => name));
  const added = outputs.filter(({ kind }) => kind === 'destination');
  const used = added.filter(({ name }) => !inSettings.has(name));
  return {
    destinations: [
      ...settings.destinations,
      ...used.flatMap((one) => readAdded(one, settings, problems) ?? []),
    ],
    /** Also of those that cannot be used: retention keeps what they have not received. */
    names: [...new Set([...inSettings, ...added.map(({ name }) => name)])],
    /** Destinations that the settings have, too. The latter are used. */
    conflicts: added
      .filter(({ name }) => inSettings.has(name))
      .map(
        ({ name }) =>
          `destination "${name}" is in the settings and was also added in the console: remove it from the settings, or delete it in the console`,
      ),
    problems,
  };
}
