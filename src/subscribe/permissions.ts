import type { CloudClient } from '../cloud/client.ts';
import { CloudApiError } from '../cloud/cloud-api-error.ts';
import { isSameRole } from '../cloud/contract/auth.ts';

/** The calls that we make and the permission for each, named as in the specification, "Scope names". */
const NEEDS = {
  read: { method: 'get', permission: 'subscriptions-webhook:r' },
  write: { method: 'post', permission: 'subscriptions-webhook' },
} as const;

/** The kind of access to subscriptions. */
export type Access = keyof typeof NEEDS;

/** Rejects with the names of the missing permissions, unless the cloud grants this access or can't be queried for it. */
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
    `the cloud account or API token lacks the permission ${missing.join(' and ')}: grant it in the cloud`,
  );
}

/** Whether a permission that allows the call is granted. True also if that is unknown: the call itself will show it. */
async function isGranted(
  authorization: CloudClient['authorization'],
  access: Access,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    const call = { uri: '/subscriptions/webhook', method: NEEDS[access].method };
    const { permissions, roles } = await authorization.checkPermission(call, signal);
    const { scopes, role } = await authorization.tokenInfo(signal);
    if (scopes.length === 0) return roles.length === 0 || roles.some((one) => isSameRole(one, role));
    return permissions.length === 0 || permissions.some(({ name }) => holds(scopes, name));
  } catch (error) {
    // Any error answer means that the permissions are unknown. No answer means that the cloud is unreachable.
    if (error instanceof CloudApiError && error.status !== undefined) return true;
    throw error;
  }
}

/** A name without `:r` is full control. The meaning of `*` in a pattern is not documented, so it may match. */
function holds(scopes: readonly string[], permission: string): boolean {
  return scopes.some(
    (scope) => scope === permission || permission.startsWith(`${scope}:`) || scope.includes('*'),
  );
}
