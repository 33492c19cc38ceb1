import { UsageError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { describeIds } from '../../store/access/operator-log.ts';
import {
  countQuarantine,
  openQuarantine,
  type QuarantineFilter,
  findQuarantined,
} from '../../store/quarantine/search-quarantine.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { checkIds, printQuarantine } from './list.ts';
import {
  discardQuarantined,
  addReplay,
  NO_REPLAYS,
  type Replay,
  type ReplaySums,
  type ReplayTally,
} from '../../store/quarantine/quarantine.ts';
import { countOf, formatBytes } from '../../lib/text/units.ts';
import { revealOnLine } from '../../lib/text/hidden-characters.ts';
import { note, print } from '../shared/output.ts';
import { createProgress } from '../shared/progress.ts';
import { recordCommand } from '../shared/record.ts';
import { groupByBytes, replayQuarantined, type ReplayContext } from '../../replay/replay.ts';

/** The items that a command works on: those with these ids, else open items that match the filter, or all with `all`. */
interface Chosen {
  readonly ids: readonly string[];
  readonly filter: QuarantineFilter;
  readonly all: boolean;
}

/** Items per query, without their content. */
const PAGE = 500;

/** Throws a UsageError unless the items are chosen in exactly one way. */
function checkChosen({ ids, filter, all }: Chosen): void {
  checkIds(ids);
  const isFiltered = Object.values(filter).some((condition) => condition !== undefined);
  if (ids.length > 0 && (isFiltered || all)) {
    throw new UsageError('Give either ids, or a filter or --all.');
  }
  if (ids.length === 0 && !isFiltered && !all) {
    throw new UsageError('Select items by id, by a filter such as --type or --reason, or with --all.');
  }
}

function describeChosen({ ids, filter, all }: Chosen): Readonly<Record<string, unknown>> {
  if (ids.length > 0) return describeIds(ids);
  return all ? { all } : { filter };
}

async function countChosen(db: Db, { ids, filter }: Chosen): Promise<number> {
  return ids.length > 0 ? ids.length : countQuarantine(db, ALL_SOURCES, filter, 'open');
}

async function* pagesOf(db: Db, { ids, filter }: Chosen): AsyncGenerator<string[]> {
  if (ids.length > 0) yield [...ids];
  else
    for await (const page of openQuarantine(db, ALL_SOURCES, filter, PAGE))
      yield page.map((item) => item.quarantine_id);
}

const PREVIEW = 20;

/** `quarantine discard`: deletes the content of the chosen items, or shows which items it would discard. */
export async function discardChosen(db: Db, chosen: Chosen, confirmed: boolean, signal: AbortSignal) {
  checkChosen(chosen);
  if (chosen.ids.length > 0) await reportResolved(db, chosen.ids);
  if (!confirmed) {
    await preview(db, chosen);
    note('nothing was discarded: repeat the command with --yes to discard these items');
    return;
  }
  const discarded = await recordCommand(
    db,
    { action: 'quarantine.discard', details: describeChosen(chosen) },
    () => discardPages(db, chosen, signal),
    (discarded) => ({ discarded }),
  );
  print(`discarded ${countOf(discarded, 'item')}`);
}

async function discardPages(db: Db, chosen: Chosen, signal: AbortSignal): Promise<number> {
  using progress = createProgress('discarded', await countChosen(db, chosen));
  let discarded = 0;
  for await (const ids of pagesOf(db, chosen)) {
    if (signal.aborted)
      throw new Error(`stopped after ${countOf(discarded, 'item')}; the others are unchanged`);
    discarded += await discardQuarantined(db, ALL_SOURCES, ids);
    progress.show(discarded);
  }
  return discarded;
}

/** Prints which of these items are already resolved. Throws before anything is done when one does not exist. */
async function reportResolved(db: Db, ids: readonly string[]): Promise<void> {
  const found = new Map(
    (await findQuarantined(db, ALL_SOURCES, ids)).map((item) => [item.quarantine_id, item]),
  );
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) throw new UsageError(`there is no quarantined item ${missing}`);
  for (const { quarantine_id, resolution, resolved_at } of found.values()) {
    if (resolution !== null)
      print(`${quarantine_id}  already ${resolution} at ${resolved_at?.toISOString()}`);
  }
}

async function preview(db: Db, { ids, filter }: Chosen): Promise<void> {
  if (ids.length === 0) {
    await printQuarantine(db, filter, { state: 'open', limit: PREVIEW }, false);
    return;
  }
  for (const { quarantine_id, resolution, bytes, reason } of await findQuarantined(db, ALL_SOURCES, ids)) {
    if (resolution === null) print(`${quarantine_id}  ${formatBytes(bytes)}  ${revealOnLine(reason)}`);
  }
}

/** Of the items that one replay quarantines again, at most this many are printed. */
const NAMED = 5;

type ReplayOptions = Omit<ReplayContext, 'scope'>;

/** `quarantine replay`: prints the result of each item. Resolves with false when any is still in quarantine. */
export async function replayChosen(context: ReplayOptions, chosen: Chosen): Promise<boolean> {
  checkChosen(chosen);
  const { replayed, events, duplicates, again, left } = await recordCommand(
    context.db,
    { action: 'quarantine.replay', details: describeChosen(chosen) },
    () => replayBatches(context, chosen),
    (sums) => ({ ...sums }),
  );
  note(`(${replayed} replayed: ${stored({ events, duplicates })}, ${again} quarantined again)`);
  return again === 0 && left === 0;
}

async function replayBatches(context: ReplayOptions, chosen: Chosen): Promise<ReplaySums> {
  using progress = createProgress('replayed', await countChosen(context.db, chosen));
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
