import type { ErasedLeaves } from '../store/read-seals.ts';

/**
 * The id of the erasure that deleted a row; undefined if none did. Who only claims an erasure has not deleted the salt, with which
 * a guess of the row could be confirmed.
 */
export function erasureOf(leaf: number, salt: Buffer, erased: readonly ErasedLeaves[]): string | undefined {
  if (!salt.every((byte) => byte === 0)) return undefined;
  return erased.find(({ from, to }) => from <= leaf && leaf < to)?.erasure;
}

/** The detail of a finding. */
export const erasedBy = (erasure: string) => `erased lawfully: erasure ${erasure}`;
