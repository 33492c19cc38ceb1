import type { CloudClient } from '../cloud/client.ts';
import { CloudApiError } from '../cloud/cloud-api-error.ts';

/** The calls we make and the permission for each, by its name in the specification, "Scope names". */
const NEEDS = {
  read: { method: 'get', permission: 'subscriptions-webhook:r' },
  write: { method: 'post', permission: 'subscriptions-webhook' },
} as const;

/** What is to be done to subscriptions. */
export type Access = keyof typeof NEEDS;

/** Rejects with the missing permission's name, unless the cloud grants this access or does not say. */
export async function demandPermissions(
  { authorization }: Pick<CloudClient, 'authorization'>,
  accesses: readonly Access[],
  signal?: AbortSignal,
): Promise<void> {
  const missing: string[] = [];
  for (const access of accesses) {
    if (!(await isGranted(authorization, access, signal))) missing.push(NEEDS[access].permission);
  }
  if (missing.length === 0) return;
  throw new Error(
    `the cloud's account or API token lacks the permission ${missing.join(' and ')}: grant it in the cloud`,
  );
}

/** Whether any permission that allows the call is held. True also where that cannot be found out: the call will tell. */
async function isGranted(
  authorization: CloudClient['authorization'],
  access: Access,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    const call = { uri: '/subscriptions/webhook', method: NEEDS[access].method };
    const { permissions, roles } = await authorization.checkPermission(call, signal);
    const { scopes, role } = await authorization.tokenInfo(signal);
    if (scopes.length === 0) return roles.length === 0 || roles.includes(role);
    return permissions.length === 0 || permissions.some(({ name }) => holds(scopes, name));
  } catch (error) {
    // An answer, of whatever kind, means that the cloud does not say; no answer means that there is no cloud.
    if (error instanceof CloudApiError && error.status !== undefined) return true;
    throw error;
  }
}

/** A name without `:r` is full control; how far a pattern with `*` reaches is not documented, so it may reach. */
function holds(scopes: readonly string[], permission: string): boolean {
  return scopes.some(
    (scope) => scope === permission || permission.startsWith(`${scope}:`) || scope.includes('*'),
  );
}
