import type { SourceConfig } from '../config.ts';
import { hasEndedOldSecrets } from '../config/stored-sources.ts';
import type { SourceLine } from '../console/sources/source-schema.ts';
import type { Db } from '../store/database.ts';
import { isInScope, type Scope } from '../store/scope.ts';
import { listSources } from '../store/sources.ts';
import { toStored } from './join-sources.ts';

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
