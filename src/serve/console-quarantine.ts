import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { QuarantineOptions } from '../console/quarantine/quarantine-area.ts';
import type { Db } from '../store/database.ts';
import type { Replay } from '../store/replay-outcome.ts';
import { groupByBytes } from '../replay/group-by-bytes.ts';
import { replayQuarantined } from '../replay/replay.ts';

/** How the console replays: as the command does, in transactions of a size. */
export function replayerOf(
  db: Db,
  { maxBodyBytes }: Pick<Config, 'maxBodyBytes'>,
  logger: Logger,
): QuarantineOptions['replay'] {
  return async (items, giveUp) => {
    const replays: Replay[] = [];
    for (const ids of groupByBytes(items, maxBodyBytes)) {
      if (giveUp.aborted) throw new Error(`stopped; ${replays.length} are replayed, the rest is as it was`);
      replays.push(...(await replayQuarantined({ db, logger, maxBodyBytes, giveUp }, ids)));
    }
    return replays;
  };
}
