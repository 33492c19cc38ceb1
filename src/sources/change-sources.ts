import { randomBytes } from 'node:crypto';
import { sourceDefinition, readStoredSource, subjectOf } from './stored-sources.ts';
import type { SecretReference, SourceContext, SourceDefinition } from './stored-sources.ts';
import { ConflictError, UsageError } from '../lib/errors.ts';
import { openSecret, sealedReference, type SecretsKey } from '../config/sealed-secret.ts';
import type { Db } from '../store/server/database.ts';
import { recordAction, type Operator } from '../store/access/operator-log.ts';
import { changeAllSources, changeSource, disableSource, insertSource } from '../store/sources/sources.ts';
import type { SourceUpdate } from '../store/sources/sources.ts';
import type { Scope } from '../store/server/scope.ts';
import type { OperatorActionName } from '../store/server/schema/access-tables.ts';
import type { Config } from '../config/config.ts';
import type { SourceConfig } from '../config/sources.ts';
import { describeSources } from './describe-sources.ts';
import { toStored } from './join-sources.ts';
import { commandName } from '../lib/text/command-name.ts';

/** Who changes a source in which database, under which settings. */
export interface SourceChange {
  readonly db: Db;
  readonly operator: Operator;
  readonly context: SourceContext;
  /** The sources in the settings, which are changed there. */
  readonly configured: readonly SourceConfig[];
}

/** A secret as it is given: where to find it, or itself, which is then encrypted. */
export type GivenSecret = Exclude<SecretReference, { sealed: string }> | { readonly value: string };

/** A source that is added. Without a secret, one is generated. */
export interface GivenSource {
  readonly name: string;
  readonly secret: GivenSecret | undefined;
  readonly cloud:
    | {
        readonly apiUrl: string;
        readonly token?: GivenSecret | undefined;
        readonly username?: string | undefined;
        readonly password?: GivenSecret | undefined;
      }
    | undefined;
  readonly messageTypes: readonly string[] | undefined;
  readonly limits?: {
    readonly deliveries_per_second?: number | undefined;
    readonly bytes_per_second?: number | undefined;
  };
}

export interface Made {
  /** The generated secret: nobody can read it again. Undefined if it was given. */
  readonly generated: string | undefined;
}

/**
 * Adds a source to the database, where all processes find it within a second. Throws a UsageError if something of it is
 * wrong or cannot be encrypted, and a ConflictError if there is a source of this name.
 */
export async function addSource(change: SourceChange, given: GivenSource): Promise<Made> {
  const { name, cloud, messageTypes, limits } = given;
  const { secretsKeys } = change.context;
  mustNotBeConfigured(change, name, 'SOURCE_EXISTS');
  const { secret, generated } = secretFrom(given.secret);
  const keep = (one: GivenSecret | undefined) => one && referenceTo(one, name, secretsKeys);
  const definition: SourceDefinition = {
    webhook_secrets: [referenceTo(secret, name, secretsKeys)],
    ...(messageTypes && { message_types: [...messageTypes] }),
    ...(limits && Object.values(limits).some((limit) => limit !== undefined) && { limits }),
    ...(cloud && {
      cloud: {
        api_url: cloud.apiUrl,
        api_token: keep(cloud.token),
        username: cloud.username,
        password: keep(cloud.password),
      },
    }),
  };
  check(change, name, definition);
  const secretKind = kindOf(given.secret);
  const details = { secret: secretKind, api_url: cloud?.apiUrl, message_types: messageTypes, ...limits };
  await record(change, 'source.add', name, details, () => insertSource(change.db, name, definition));
  return { generated };
}

/**
 * Adds a secret in front of those that a source has. The others are accepted until a time; null: until they are dropped.
 */
export async function rotateSecret(
  change: SourceChange,
  name: string,
  given: GivenSecret | undefined,
  oldSecretsUntil: Date | null,
): Promise<Made> {
  mustNotBeConfigured(change, name, 'SOURCE_IN_SETTINGS');
  const { secret, generated } = secretFrom(given);
  const added = referenceTo(secret, name, change.context.secretsKeys);
  const details = { secret: kindOf(given), old_secrets_until: oldSecretsUntil ?? 'dropped by an operator' };
  await record(change, 'source.rotate', name, details, () =>
    changeSource(change.db, name, (row) => {
      const { definition } = toStored(row);
      check(change, name, { ...definition, webhook_secrets: [added] });
      return {
        definition: { ...definition, webhook_secrets: [added, ...definition.webhook_secrets] },
        oldSecretsUntil,
      };
    }),
  );
  return { generated };
}

/** Drops all secrets of a source but the first. */
export async function dropOldSecrets(change: SourceChange, name: string): Promise<void> {
  mustNotBeConfigured(change, name, 'SOURCE_IN_SETTINGS');
  await record(change, 'source.drop-old', name, {}, () =>
    changeSource(change.db, name, (row) => {
      const { definition } = toStored(row);
      return {
        definition: { ...definition, webhook_secrets: definition.webhook_secrets.slice(0, 1) },
        oldSecretsUntil: null,
      };
    }),
  );
}

/** Refuses further deliveries of a source. Its events stay. */
export async function disable(change: SourceChange, name: string): Promise<void> {
  mustNotBeConfigured(change, name, 'SOURCE_IN_SETTINGS');
  await record(change, 'source.disable', name, {}, () => disableSource(change.db, name));
}

/** Encrypts every secret in the database with the first key. Resolves with the number of sources. */
export async function reencryptSources(change: SourceChange): Promise<number> {
  const { secretsKeys } = change.context;
  return record(change, 'source.reencrypt', undefined, {}, () =>
    changeAllSources(change.db, (row): SourceUpdate => {
      const { name, definition, oldSecretsUntil } = toStored(row);
      const again = (one: SecretReference) =>
        'sealed' in one
          ? referenceTo({ value: openSecret(one.sealed, subjectOf(name), secretsKeys) }, name, secretsKeys)
          : one;
      const { cloud } = definition;
      return {
        definition: {
          ...definition,
          webhook_secrets: definition.webhook_secrets.map(again),
          ...(cloud && {
            cloud: {
              ...cloud,
              api_token: cloud.api_token && again(cloud.api_token),
              password: cloud.password && again(cloud.password),
            },
          }),
        },
        oldSecretsUntil,
      };
    }),
  );
}

/** The changes that the console and the API can make. References are for the command line: see docs/security.md. */
export type SourceChanges = ReturnType<typeof changingSources>;

/** Changes sources for the console and the API, under the settings in force. */
export function changingSources(
  db: Db,
  live: {
    readonly config: SourceContext & Pick<Config, 'publicUrl'>;
    readonly configured: () => readonly SourceConfig[];
  },
) {
  const changeOf = (operator: Operator): SourceChange => ({
    db,
    operator,
    context: live.config,
    configured: live.configured(),
  });
  return {
    /** What the settings say of all sources. */
    usual: () => ({ messageTypes: live.config.messageTypes, publicUrl: live.config.publicUrl }),
    list: (scope: Scope) => describeSources(db, scope, live.configured()),
    add: (operator: Operator, given: GivenSource) => addSource(changeOf(operator), given),
    rotate: (operator: Operator, name: string, secret: string | undefined, until: Date | null) =>
      rotateSecret(changeOf(operator), name, secret === undefined ? undefined : { value: secret }, until),
    dropOld: (operator: Operator, name: string) => dropOldSecrets(changeOf(operator), name),
    disable: (operator: Operator, name: string) => disable(changeOf(operator), name),
  };
}

function secretFrom(given: GivenSecret | undefined): { secret: GivenSecret } & Made {
  if (given !== undefined) return { secret: given, generated: undefined };
  const generated = randomBytes(32).toString('hex');
  return { secret: { value: generated }, generated };
}

const kindOf = (given: GivenSecret | undefined) =>
  given === undefined ? 'generated' : 'value' in given ? 'given' : JSON.stringify(given);

function referenceTo(given: GivenSecret, source: string, keys: readonly SecretsKey[]): SecretReference {
  if (!('value' in given)) return given;
  const otherwise = `name a variable or a file that contains the secret (see "${commandName()} sources add --help")`;
  return sealedReference(given.value, subjectOf(source), keys, otherwise);
}

function check({ context, configured }: SourceChange, name: string, definition: SourceDefinition): void {
  const problems: string[] = [];
  const given = {
    name,
    definition: sourceDefinition.parse(definition),
    oldSecretsUntil: null,
    isDisabled: false,
  };
  readStoredSource(given, context, Date.now(), problems, configured);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
}

function mustNotBeConfigured({ configured }: SourceChange, name: string, code: string): void {
  if (!configured.some((source) => source.name === name)) return;
  throw new ConflictError(code, `the source "${name}" is in the settings: change it there, and reload`);
}

function record<T>(
  { db, operator }: SourceChange,
  action: OperatorActionName,
  subject: string | undefined,
  details: Readonly<Record<string, unknown>>,
  work: () => Promise<T>,
): Promise<T> {
  return recordAction(db, { operator, action, subject, details }, work);
}
