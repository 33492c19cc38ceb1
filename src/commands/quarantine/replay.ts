import { groupByBytes, replayQuarantined, type ReplayContext } from '../../replay/replay.ts';
import { recordAction } from '../../store/operator-log.ts';
import { addReplay, NO_REPLAYS } from '../../store/quarantine.ts';
import type { Replay, ReplaySums, ReplayTally } from '../../store/quarantine.ts';
import { openQuarantine } from '../../store/search-quarantine.ts';
import { ALL_SOURCES } from '../../store/scope.ts';
import { countOf } from '../../units.ts';
import { revealOnLine } from '../../hidden-characters.ts';
import { note, print } from '../shared/output.ts';
import { commandOperator } from '../shared/process.ts';
import { createProgress } from '../shared/progress.ts';
import { checkChosen, countChosen, describeChosen, PAGE, type Chosen } from './chosen.ts';

/** Of the items that one replay quarantines again, at most this many are printed. */
const NAMED = 5;

/** The command line replays items of every source. */
type ReplayOptions = Omit<ReplayContext, 'scope'>;

/** `quarantine replay`: prints the result of each item. Resolves with false when any is still in quarantine. */
export async function replayChosen(context: ReplayOptions, chosen: Chosen): Promise<boolean> {
  checkChosen(chosen);
  const { replayed, events, duplicates, again, left } = await recordAction(
    context.db,
    { operator: commandOperator(), action: 'quarantine.replay', details: describeChosen(chosen) },
    () => replayBatches(context, chosen),
    (sums) => ({ ...sums }),
  );
  note(`(${replayed} replayed: ${stored({ events, duplicates })}, ${again} quarantined again)`);
  return again === 0 && left === 0;
}

async function replayBatches(context: ReplayOptions, chosen: Chosen): Promise<ReplaySums> {
  const total = await countChosen(context.db, chosen);
  const progress = createProgress('replayed', total);
  let sums = NO_REPLAYS;
  let done = 0;
  for await (const batch of batchesOf(context, chosen)) {
    if (context.giveUp.aborted) {
      throw new Error(
        `stopped after ${countOf(sums.replayed, 'item')}; items not listed above are unchanged`,
      );
    }
    const replays = await replayQuarantined({ ...context, scope: ALL_SOURCES }, batch);
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

/** The ids of items that are replayed together: one alone when chosen by its id, else as many as a batch may contain. */
async function* batchesOf(
  { db, maxBodyBytes }: ReplayOptions,
  { ids, filter }: Chosen,
): AsyncGenerator<string[]> {
  if (ids.length > 0) {
    for (const id of ids) yield [id];
    return;
  }
  for await (const page of openQuarantine(db, ALL_SOURCES, filter, PAGE))
    yield* groupByBytes(page, maxBodyBytes);
}

function describeReplay(replay: Replay): string {
  switch (replay.kind) {
    case 'replayed':
      return [
        `replayed as delivery ${replay.deliveryId}: ${stored(replay)}`,
        ...describeAgain(replay.again),
      ].join('; ');
    case 'resolved': {
      const as = replay.deliveryId === null ? '' : ` as delivery ${replay.deliveryId}`;
      return `already ${replay.resolution} at ${replay.resolvedAt.toISOString()}${as}`;
    }
    case 'refused':
      return `not replayed: ${revealOnLine(replay.reason)}`;
    case 'unknown':
      return 'does not exist';
  }
}

const stored = ({ events, duplicates }: Pick<ReplayTally, 'events' | 'duplicates'>) =>
  `${countOf(events, 'event')}, ${countOf(duplicates, 'duplicate')}`;

function describeAgain(again: ReplayTally['again']): string[] {
  const named = again
    .slice(0, NAMED)
    .map(({ quarantineId, reason }) => `${quarantineId} (${revealOnLine(reason)})`);
  const more = again.length > NAMED ? [`and ${again.length - NAMED} more`] : [];
  return again.length === 0 ? [] : [`quarantined again as ${[...named, ...more].join(', ')}`];
}
