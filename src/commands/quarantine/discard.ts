import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { discardQuarantined } from '../../store/quarantine.ts';
import { findQuarantined } from '../../store/search-quarantine.ts';
import { ALL_SOURCES } from '../../store/scope.ts';
import { countOf, formatBytes } from '../../units.ts';
import { revealOnLine } from '../../hidden-characters.ts';
import { note, print } from '../shared/output.ts';
import { commandOperator } from '../shared/process.ts';
import { createProgress } from '../shared/progress.ts';
import { checkChosen, countChosen, describeChosen, pagesOf, type Chosen } from './chosen.ts';
import { printQuarantine } from './list.ts';

/** Items that the preview of `discard` shows. */
const PREVIEW = 20;

/** `quarantine discard`: deletes the content of the chosen items, or shows which items it would discard. */
export async function discardChosen(
  db: Db,
  chosen: Chosen,
  confirmed: boolean,
  signal: AbortSignal,
): Promise<void> {
  checkChosen(chosen);
  if (chosen.ids.length > 0) await reportResolved(db, chosen.ids);
  if (!confirmed) {
    await preview(db, chosen);
    note('nothing was discarded: repeat the command with --yes to discard these items');
    return;
  }
  const action = { operator: commandOperator(), action: 'quarantine.discard' as const };
  const discarded = await recordAction(
    db,
    { ...action, details: describeChosen(chosen) },
    () => discardPages(db, chosen, signal),
    (discarded) => ({ discarded }),
  );
  print(`discarded ${countOf(discarded, 'item')}`);
}

/** Discards the chosen items; resolves with their number. */
async function discardPages(db: Db, chosen: Chosen, signal: AbortSignal): Promise<number> {
  const progress = createProgress('discarded', await countChosen(db, chosen));
  let discarded = 0;
  for await (const ids of pagesOf(db, chosen)) {
    if (signal.aborted)
      throw new Error(`stopped after ${countOf(discarded, 'item')}; the others are unchanged`);
    discarded += await discardQuarantined(db, ALL_SOURCES, ids);
    progress.show(discarded);
  }
  progress.clear();
  return discarded;
}

/** Prints which of these items are already resolved. Throws before anything is done when one does not exist. */
async function reportResolved(db: Db, ids: readonly string[]): Promise<void> {
  const found = new Map(
    (await findQuarantined(db, ALL_SOURCES, ids)).map((item) => [item.quarantine_id, item]),
  );
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) throw new Error(`there is no quarantined item ${missing}`);
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
