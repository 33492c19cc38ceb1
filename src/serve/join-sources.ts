import type { SourceConfig } from '../config.ts';
import {
  readStoredSource,
  sourceDefinition,
  type SourceContext,
  type StoredSource,
  hasEndedOldSecrets,
} from '../config/stored-sources.ts';
import type { Db } from '../store/database.ts';
import { ALL_SOURCES, isInScope, type Scope } from '../store/scope.ts';
import { listSources, type SourceRow } from '../store/sources.ts';
import type { SourceLine } from '../console/sources/source-schema.ts';

/** The sources of the settings and of the database together. */
interface JoinedSources {
  readonly sources: readonly SourceConfig[];
  /** Their names, and those of sources that are disabled or cannot be used: subscriptions of these are left alone. */
  readonly names: readonly string[];
  /** Sources of the database that the settings have, too. The latter are used. */
  readonly conflicts: readonly string[];
  /** What is wrong with sources of the database. */
  readonly problems: readonly string[];
}

/** Joins the sources of the settings and of the database. */
export function joinSources(
  settings: readonly SourceConfig[],
  stored: readonly StoredSource[],
  context: SourceContext,
): JoinedSources {
  const problems: string[] = [];
  const inSettings = new Set(settings.map(({ name }) => name));
  const used = stored.filter(({ isDisabled }) => !isDisabled);
  const added = used
    .filter(({ name }) => !inSettings.has(name))
    .flatMap((source) => readStoredSource(source, context, Date.now(), problems) ?? []);
  return {
    sources: [...settings, ...added],
    names: [...new Set([...inSettings, ...stored.map(({ name }) => name)])],
    conflicts: used.filter(({ name }) => inSettings.has(name)).map(describeConflict),
    problems,
  };
}

const describeConflict = ({ name }: StoredSource) =>
  `source "${name}" is in the settings and in the database: remove it from the settings, or disable the other with "xiq-sink sources disable ${name}"`;

/** The sources in the database. Throws an error that names one whose definition is invalid. */
export async function readStoredSources(db: Db): Promise<StoredSource[]> {
  return (await listSources(db, ALL_SOURCES)).map(toStored);
}

/** A row of the database, checked. */
export function toStored(row: SourceRow): StoredSource {
  const { data, error } = sourceDefinition.safeParse(row.definition);
  if (data === undefined) {
    throw new Error(`the definition of source "${row.name}" in the database is invalid`, { cause: error });
  }
  return {
    name: row.name,
    definition: data,
    oldSecretsUntil: row.old_secrets_until,
    isDisabled: row.disabled_at !== null,
  };
}

/** The sources that may be seen, those of the settings first. */
export async function describeSources(
  db: Db,
  scope: Scope,
  configured: readonly SourceConfig[],
): Promise<readonly SourceLine[]> {
  const names = new Set(configured.map(({ name }) => name));
  const inSettings = configured
    .filter(({ name }) => isInScope(scope, name))
    .map(({ name, secrets, cloud, messageTypes, limits }) => ({
      name,
      origin: 'settings' as const,
      state: 'in use' as const,
      secrets: secrets.length,
      old_secrets_until: null,
      api_url: cloud?.apiUrl ?? null,
      message_types: messageTypes,
      deliveries_per_second: limits?.deliveriesPerSecond ?? null,
      bytes_per_second: limits?.bytesPerSecond ?? null,
    }));
  const now = Date.now();
  const inDatabase = (await listSources(db, scope)).map(toStored).map((stored) => {
    const { name, definition, oldSecretsUntil, isDisabled } = stored;
    const secrets = hasEndedOldSecrets(stored, now) ? 1 : definition.webhook_secrets.length;
    return {
      name,
      origin: 'database' as const,
      state: isDisabled
        ? ('disabled' as const)
        : names.has(name)
          ? ('conflict' as const)
          : ('in use' as const),
      secrets,
      old_secrets_until: secrets === 1 ? null : (oldSecretsUntil?.toISOString() ?? null),
      api_url: definition.cloud?.api_url ?? null,
      message_types: definition.message_types ?? null,
      deliveries_per_second: definition.limits?.deliveries_per_second ?? null,
      bytes_per_second: definition.limits?.bytes_per_second ?? null,
    };
  });
  return [...inSettings, ...inDatabase];
}
