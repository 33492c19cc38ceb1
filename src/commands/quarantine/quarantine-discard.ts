import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { discardQuarantined } from '../../store/quarantine.ts';
import { findQuarantined } from '../../store/search-quarantine.ts';
import { commandOperator } from '../operator.ts';
import { note, print } from '../print.ts';
import { createProgress } from '../progress.ts';
import { checkChosen, countChosen, describeChosen, pagesOf } from './quarantine-chosen.ts';
import type { Chosen } from './quarantine-chosen.ts';
import { printQuarantine } from './quarantine.ts';
import { oneLine } from '../table.ts';

/** How many a preview of `discard` shows. */
const PREVIEW = 20;

/** `quarantine discard`: empties the bytes of what is chosen, or shows what it would empty. */
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
    note('nothing is discarded yet: the same command with --yes does it');
    return;
  }
  const action = { operator: commandOperator(), action: 'quarantine.discard' as const };
  const discarded = await recordAction(
    db,
    { ...action, details: describeChosen(chosen) },
    () => discardPages(db, chosen, signal),
    (discarded) => ({ discarded }),
  );
  print(`${discarded} discarded`);
}

/** Gives how many it has discarded. */
async function discardPages(db: Db, chosen: Chosen, signal: AbortSignal): Promise<number> {
  const progress = createProgress('discarded', await countChosen(db, chosen));
  let discarded = 0;
  for await (const ids of pagesOf(db, chosen)) {
    if (signal.aborted) throw new Error(`stopped; ${discarded} are discarded, the rest is as it was`);
    discarded += await discardQuarantined(db, ids);
    progress.show(discarded);
  }
  progress.clear();
  return discarded;
}

/** Says of these ids which are resolved already. Throws when one is not there at all, before anything is done. */
async function reportResolved(db: Db, ids: readonly string[]): Promise<void> {
  const found = new Map((await findQuarantined(db, ids)).map((item) => [item.quarantine_id, item]));
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) throw new Error(`there is no ${missing} in quarantine`);
  for (const { quarantine_id, resolution, resolved_at } of found.values()) {
    if (resolution !== null)
      print(`${quarantine_id}  was ${resolution} already, ${resolved_at?.toISOString()}`);
  }
}

async function preview(db: Db, { ids, filter }: Chosen): Promise<void> {
  if (ids.length === 0) {
    await printQuarantine(db, filter, { state: 'open', limit: PREVIEW }, false);
    return;
  }
  for (const { quarantine_id, resolution, bytes, reason } of await findQuarantined(db, ids)) {
    if (resolution === null) print(`${quarantine_id}  ${bytes} bytes  ${oneLine(reason)}`);
  }
}
