import type { SourceConfig } from '../config.ts';
import { readStoredSource, sourceDefinition } from '../config/stored-sources.ts';
import type { SourceContext, StoredSource } from '../config/stored-sources.ts';
import type { Db } from '../store/database.ts';
import { ALL_SOURCES } from '../store/scope.ts';
import { listSources, type SourceRow } from '../store/sources.ts';

/** The sources of the settings and of the database together. */
export interface JoinedSources {
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
