import type { Config } from '../../config.ts';
import { FAMILIES } from '../../domain.ts';
import { readPartitionState } from '../../store/partitions.ts';
import { readConservation } from '../../store/read-arrivals.ts';
import { fail, ok, warn } from './check.ts';
import type { Finding } from './check.ts';
import type { DatabaseAccess } from './database-access.ts';

const LOOK = 'look: xiq-sink sql "select * from conservation"';

/** Large tables take longer to add up than a person waits. */
export const CONSERVATION_LATE = warn('takes longer than 5 s to add up', LOOK);

/** Whether every delivery has become what it says, and whether something waits for a person. */
export async function checkConservation(access: DatabaseAccess): Promise<Finding> {
  const { deliveries, unbalanced, openInQuarantine } = await readConservation(access.opened().db);
  if (unbalanced.length > 0) {
    return fail(
      `does not add up: ${unbalanced.join(', ')}`,
      `rows are missing, or were added by hand: ${LOOK}, and restore them from a backup`,
    );
  }
  const told = `${deliveries} deliveries add up`;
  return openInQuarantine === 0
    ? ok(told)
    : warn(`${told}; ${openInQuarantine} open in quarantine`, 'look: xiq-sink quarantine list');
}

/** Whether every event finds its month. */
export async function checkPartitions(access: DatabaseAccess, config: Config): Promise<Finding> {
  const { db } = access.opened();
  const { missing, inDefault } = await readPartitionState(db, new Date(), config.retentionMonths);
  if (missing.length > 0) {
    return warn(
      `${missing.length} are not there, ${missing[0]} the first: their events go to a default partition`,
      'a worker makes them at its start and every hour: run xiq-sink serve, or look into its log',
    );
  }
  const rows = inDefault.map(({ partition, rows }) => `${rows} in ${partition}`);
  return rows.length === 0
    ? ok('from last month to three months ahead')
    : warn(
        `events lie outside every month: ${rows.join(', ')}`,
        'their own time is wrong, or very old: look into the table; they move once their month has a partition',
      );
}

/** Whether retention has dropped what it should have. */
export async function checkRetention(access: DatabaseAccess, config: Config): Promise<Finding> {
  const { retentionMonths } = config;
  const { passed } = await readPartitionState(access.opened().db, new Date(), retentionMonths);
  const told = FAMILIES.map((family) => `${family} ${describeMonths(retentionMonths[family])}`).join(', ');
  return passed.length === 0
    ? ok(told)
    : warn(
        `${told}; still there: ${passed.join(', ')}`,
        'a worker drops them within an hour, unless a destination is to get their events: see destinations',
      );
}

const describeMonths = (months: number | undefined) =>
  months === undefined ? 'for ever' : `${months} months`;
