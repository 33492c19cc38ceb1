import type { Db } from '../../src/store/database.ts';
import { extendLog } from '../../src/store/extend-log.ts';
import { waitFor } from './wait-for.ts';

/**
 * Extends the log until those who follow events see all that are stored: open transactions of other tests, in other
 * databases of the same server, hold them back for a while.
 */
export async function untilSeen(db: Db): Promise<void> {
  await waitFor(async () => {
    const extension = await extendLog(db);
    return extension !== undefined && !extension.isMore && extension.addedOld === 0;
  });
}
