import { groupByBytes, replayQuarantined } from '../../replay/replay.ts';
import type { ReplayContext } from '../../replay/replay.ts';
import { recordAction } from '../../store/operator-log.ts';
import { addReplay, NO_REPLAYS } from '../../store/quarantine.ts';
import type { Replay, ReplaySums, ReplayTally } from '../../store/quarantine.ts';
import { openQuarantine } from '../../store/search-quarantine.ts';
import { commandOperator } from '../operator.ts';
import { note, print } from '../print.ts';
import { createProgress } from '../progress.ts';
import { checkChosen, countChosen, describeChosen, PAGE } from './quarantine-chosen.ts';
import type { Chosen } from './quarantine-chosen.ts';
import { oneLine } from '../table.ts';

/** How many of those that one replay has set aside anew are named. */
const NAMED = 5;

/** `quarantine replay`: prints what came of each. Returns whether all could be read, or had been resolved before. */
export async function replayChosen(context: ReplayContext, chosen: Chosen): Promise<boolean> {
  checkChosen(chosen);
  const { replayed, events, duplicates, again, left } = await recordAction(
    context.db,
    { operator: commandOperator(), action: 'quarantine.replay', details: describeChosen(chosen) },
    () => replayBatches(context, chosen),
    (sums) => ({ ...sums }),
  );
  note(`(${replayed} replayed: ${events} events, ${duplicates} duplicates, ${again} quarantined again)`);
  return again === 0 && left === 0;
}

async function replayBatches(context: ReplayContext, chosen: Chosen): Promise<ReplaySums> {
  const total = await countChosen(context.db, chosen);
  const progress = createProgress('replayed', total);
  let sums = NO_REPLAYS;
  let done = 0;
  for await (const batch of batchesOf(context, chosen)) {
    if (context.giveUp.aborted) {
      throw new Error(`stopped; ${sums.replayed} are replayed, what is not named above is as it was`);
    }
    const replays = await replayQuarantined(context, batch);
    progress.clear();
    for (const replay of replays) {
      print(`${replay.quarantineId}  ${describeReplay(replay)}`);
      sums = addReplay(sums, replay);
    }
    done += batch.length;
    progress.show(done);
  }
  progress.clear();
  return sums;
}

/** Ids of what is replayed together: alone when it is named, else as much as is no more than a batch may hold. */
async function* batchesOf(
  { db, maxBodyBytes }: ReplayContext,
  { ids, filter }: Chosen,
): AsyncGenerator<string[]> {
  if (ids.length > 0) {
    for (const id of ids) yield [id];
    return;
  }
  for await (const page of openQuarantine(db, filter, PAGE)) yield* groupByBytes(page, maxBodyBytes);
}

function describeReplay(replay: Replay): string {
  switch (replay.kind) {
    case 'replayed':
      return [
        `replayed as delivery ${replay.deliveryId}: ${replay.events} events, ${replay.duplicates} duplicates`,
        ...describeAgain(replay.again),
      ].join('; ');
    case 'resolved': {
      const as = replay.deliveryId === null ? '' : ` as delivery ${replay.deliveryId}`;
      return `was ${replay.resolution} already, ${replay.resolvedAt.toISOString()}${as}`;
    }
    case 'refused':
      return `not replayed: ${oneLine(replay.reason)}`;
    case 'unknown':
      return 'is not in quarantine';
  }
}

function describeAgain(again: ReplayTally['again']): string[] {
  const named = again
    .slice(0, NAMED)
    .map(({ quarantineId, reason }) => `${quarantineId} (${oneLine(reason)})`);
  const more = again.length > NAMED ? [`and ${again.length - NAMED} more`] : [];
  return again.length === 0 ? [] : [`quarantined again as ${[...named, ...more].join(', ')}`];
}
