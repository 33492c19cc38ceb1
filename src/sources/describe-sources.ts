import type { SourceConfig } from '../config/config.ts';
import { formatBytes, formatCount } from '../lib/text/units.ts';
import type { Db } from '../store/server/database.ts';
import { isInScope, type Scope } from '../store/server/scope.ts';
import { listSources } from '../store/sources/sources.ts';
import { toStored } from './join-sources.ts';
import { hasEndedOldSecrets } from './stored-sources.ts';

export type SourceLine = Awaited<ReturnType<typeof describeSources>>[number];

/** The limits of a source in words; empty without one. */
export function limitsOf({ deliveries_per_second: deliveries, bytes_per_second: bytes }: SourceLine): string {
  const limits = [
    deliveries && `${formatCount(deliveries)} deliveries/s`,
    bytes && `${formatBytes(bytes)}/s`,
  ];
  return limits.filter(Boolean).join(', ');
}

/** The sources that may be seen, those of the settings first. */
export async function describeSources(db: Db, scope: Scope, configured: readonly SourceConfig[]) {
  const names = new Set(configured.map(({ name }) => name));
  const inSettings = configured
    .filter(({ name }) => isInScope(scope, name))
    .map(({ name, secrets, cloud, messageTypes, limits }) => ({
      name,
      origin: 'settings' as const,
      /** `conflict`: the settings have a source of this name, which is used instead. */
      state: 'in use' as const,
      secrets: secrets.length,
      /** When all secrets but the first end. Null: they stay. */
      old_secrets_until: null,
      api_url: cloud?.apiUrl ?? null,
      /** Null: those of the setting MESSAGE_TYPES. */
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
