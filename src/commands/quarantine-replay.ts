import { recordAction } from '../store/operator-log.ts';
import type { ReplayAccount } from '../store/resolve-quarantine.ts';
import { openQuarantine } from '../store/search-quarantine.ts';
import type { Quarantined } from '../store/search-quarantine.ts';
import { commandOperator } from './operator.ts';
import { note, print } from './print.ts';
import { createProgress } from './progress.ts';
import { checkChosen, countChosen, describeChosen, PAGE } from './quarantine-chosen.ts';
import type { Chosen } from './quarantine-chosen.ts';
import { replayQuarantined } from './replay.ts';
import type { Replay, ReplayContext } from './replay.ts';
import { oneLine } from './table.ts';

/** Bytes replayed in one transaction; something larger goes alone. More gains nothing (see `createBatchStore`). */
const BATCH_BYTES = 1024 * 1024;

/** How many of those that one replay has set aside anew are named. */
const NAMED = 5;

/** What replays came to; `left` stayed open. */
interface Sums {
  replayed: number;
  events: number;
  duplicates: number;
  again: number;
  left: number;
}

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

async function replayBatches(context: ReplayContext, chosen: Chosen): Promise<Sums> {
  const total = await countChosen(context.db, chosen);
  const progress = createProgress('replayed', total);
  const sums: Sums = { replayed: 0, events: 0, duplicates: 0, again: 0, left: 0 };
  let done = 0;
  for await (const batch of batchesOf(context, chosen)) {
    if (context.giveUp.aborted) {
      throw new Error(`stopped; ${sums.replayed} are replayed, what is not named above is as it was`);
    }
    const replays = await replayQuarantined(context, batch);
    progress.clear();
    for (const replay of replays) {
      print(`${replay.quarantineId}  ${describeReplay(replay)}`);
      addUp(sums, replay);
    }
    done += batch.length;
    progress.show(done);
  }
  progress.clear();
  return sums;
}

/** Ids of what is replayed together: alone when it is named, else as much as is no more than `BATCH_BYTES`. */
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

function* groupByBytes(page: readonly Quarantined[], maxBodyBytes: number): Generator<string[]> {
  let group: string[] = [];
  let size = 0;
  for (const { quarantine_id, bytes, encoding } of page) {
    const inflated = encoding === null ? bytes : maxBodyBytes;
    if (group.length > 0 && size + inflated > BATCH_BYTES) {
      yield group;
      group = [];
      size = 0;
    }
    group.push(quarantine_id);
    size += inflated;
  }
  if (group.length > 0) yield group;
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

function describeAgain(again: ReplayAccount['again']): string[] {
  const named = again
    .slice(0, NAMED)
    .map(({ quarantineId, reason }) => `${quarantineId} (${oneLine(reason)})`);
  const more = again.length > NAMED ? [`and ${again.length - NAMED} more`] : [];
  return again.length === 0 ? [] : [`quarantined again as ${[...named, ...more].join(', ')}`];
}

function addUp(sums: Sums, replay: Replay): void {
  switch (replay.kind) {
    case 'replayed':
      sums.replayed += 1;
      sums.events += replay.events;
      sums.duplicates += replay.duplicates;
      sums.again += replay.again.length;
      return;
    case 'refused':
    case 'unknown':
      sums.left += 1;
      return;
    case 'resolved':
  }
}
