import type { Db } from '../../src/store/server/database.ts';
import { assignPositions } from '../../src/store/log/extend-log.ts';
import { waitFor } from './wait-for.ts';

/**
 * Extends the log until those who follow events see all that are stored: open transactions of other tests, in other
 * databases of the same server, hold them back for a while.
 */
export async function untilSeen(db: Db): Promise<void> {
  await waitFor(async () => {
    const extension = await assignPositions(db);
    return extension !== undefined && !extension.isMore;
  });
}
