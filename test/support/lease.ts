import type { Db } from '../../src/store/server/database.ts';
import { takeLeases, type Holder } from '../../src/store/destinations/destinations.ts';

/** The holder of the tests' leases. */
export const holderOf = (name: string): Holder => ({
  name,
  holder: '00000000-0000-7000-8000-000000000001',
});

/** Takes the lease of a destination. Returns what a checkpoint needs of it. */
export async function takeLease(
  db: Db,
  name: string,
): Promise<Holder & { readonly generation: string; readonly start: number }> {
  const lease = (await takeLeases(db, [holderOf(name)], 30)).get(name);
  if (lease === undefined) throw new Error(`somebody else has the lease of ${name}`);
  return { ...holderOf(name), generation: lease.generation, start: lease.position };
}
