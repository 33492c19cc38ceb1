import { readRange } from '../../src/store/log/read-log.ts';
import type { Db } from '../../src/store/server/database.ts';
import { takeLeases, type Holder, type LeasedProgress } from '../../src/store/destinations/destinations.ts';

/** The holder of the tests' leases. */
export const holderOf = (name: string): Holder => ({
  name,
  holder: '00000000-0000-7000-8000-000000000001',
});

/** Takes the lease of a destination. Returns what a checkpoint needs of it. */
export async function takeLease(
  db: Db,
  name: string,
): Promise<Holder & Pick<LeasedProgress, 'generation' | 'start' | 'timeline'>> {
  const lease = (await takeLeases(db, [holderOf(name)], 30)).get(name);
  if (lease === undefined) throw new Error(`somebody else has the lease of ${name}`);
  const { timeline } = await readRange(db);
  return { ...holderOf(name), generation: lease.generation, start: lease.position, timeline };
}
