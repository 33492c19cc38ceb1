import type { SourceConfig } from '../config/config.ts';
import {
  readStoredSource,
  sourceDefinition,
  type SourceContext,
  type StoredSource,
} from './stored-sources.ts';
import type { Db } from '../store/server/database.ts';
import { ALL_SOURCES } from '../store/server/scope.ts';
import { listSources, type SourceRow } from '../store/sources/sources.ts';
import { commandName } from '../lib/text/command-name.ts';

export function joinSources(
  settings: readonly SourceConfig[],
  stored: readonly StoredSource[],
  context: SourceContext,
) {
  const problems: string[] = [];
  const inSettings = new Set(settings.map(({ name }) => name));
  const used = stored.filter(({ isDisabled }) => !isDisabled);
  const added = used
    .filter(({ name }) => !inSettings.has(name))
    .flatMap((source) => readStoredSource(source, context, Date.now(), problems, settings) ?? []);
  return {
    sources: [...settings, ...added],
    /** Also of sources that are disabled or cannot be used: subscriptions of these are left alone. */
    names: [...new Set([...inSettings, ...stored.map(({ name }) => name)])],
    /** Sources of the database that the settings have, too. The latter are used. */
    conflicts: used.filter(({ name }) => inSettings.has(name)).map(describeConflict),
    problems,
  };
}

const describeConflict = ({ name }: StoredSource) =>
  `source "${name}" is in the settings and in the database: remove it from the settings, or disable it in the database with "${commandName()} sources disable ${name}"`;

/** The sources in the database. Throws an error that names one whose definition is invalid. */
export async function readStoredSources(db: Db): Promise<StoredSource[]> {
  return (await listSources(db, ALL_SOURCES)).map(toStored);
}

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
