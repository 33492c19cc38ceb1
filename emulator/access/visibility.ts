import type { World } from '../world/world.ts';
import type { Caller } from './tokens.ts';

/**
 * Whether a caller sees the data of an organization: one that the HIQ context reads, in the account of the token. An empty
 * list in the context means all of them, as published. Organization 0 is none, so its data is always seen.
 */
export function visibleTo({ account }: World, { ownerId }: Caller): (orgId: unknown) => boolean {
  const read = new Set<unknown>(account.readingOrgIds);
  return (orgId) => ownerId === account.ownerId && (read.size === 0 || orgId === 0 || read.has(orgId));
}
