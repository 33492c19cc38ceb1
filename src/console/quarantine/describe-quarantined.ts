import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { findReplayTallies } from '../../store/quarantine.ts';
import type { ReplayTally } from '../../store/quarantine.ts';
import { findQuarantined, findReplayed } from '../../store/search-quarantine.ts';
import type { Quarantined } from '../../store/search-quarantine.ts';

/** Something in quarantine, and what became of it. */
export interface DescribedQuarantined {
  readonly item: Quarantined;
  /** What its delivery is a replay of. */
  readonly replayOf: string | undefined;
  /** What its own replay came to. */
  readonly account: ReplayTally | undefined;
}

/** One in quarantine, all but its bytes. Throws HttpError 404 when it is not there. */
export async function describeQuarantined(db: Db, id: string): Promise<DescribedQuarantined> {
  const [item] = await findQuarantined(db, [id]);
  if (item === undefined) {
    throw new HttpError(404, 'UNKNOWN_QUARANTINED', `there is no ${id} in quarantine`);
  }
  const { replay_delivery_id: replayId } = item;
  const [replayOf, accounts] = await Promise.all([
    findReplayed(db, item.delivery_id),
    replayId === null ? undefined : findReplayTallies(db, [replayId]),
  ]);
  return { item, replayOf, account: replayId === null ? undefined : accounts?.get(replayId) };
}
