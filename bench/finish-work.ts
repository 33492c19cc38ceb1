import path from 'node:path';
import { createSealer } from '../src/seal/sealer.ts';
import { keepLogKey } from '../src/seal/log-key.ts';
import type { Db } from '../src/store/server/database.ts';
import { assignPositions } from '../src/store/log/extend-log.ts';
import { readInstallation } from '../src/store/server/installation.ts';
import { recountDue } from '../src/store/deliveries/recount-deliveries.ts';
import { compactArrivals, rollUpArrivals } from '../src/store/counts/roll-up-arrivals.ts';
import { pruneSeen, rollUpSeen } from '../src/store/counts/roll-up-seen.ts';
import { knowing } from '../test/support/trust.ts';

/** So often the progress of long work is reported. */
const REPORT_MS = 10_000;

/** Does everything that the service does in the background, without its rests, until nothing is left. */
export async function finishWork(db: Db, dataDir: string, signal: AbortSignal): Promise<void> {
  await repeatWork('events enter the log', signal, async () => {
    const extension = await assignPositions(db);
    return { done: extension?.added ?? 0, isMore: extension?.isMore !== false };
  });
  await repeatWork('arrivals are counted', signal, async () => {
    const counted = await rollUpArrivals(db);
    return { done: counted ?? 0, isMore: counted !== 0 };
  });
  await Promise.all([
    seal(db, dataDir, signal),
    repeatWork('people and devices are counted', signal, async () => {
      const rolledUp = await rollUpSeen(db);
      return { done: rolledUp?.counted ?? 0, isMore: rolledUp?.isBehind !== false };
    }),
  ]);
  const now = new Date();
  await compactArrivals(db, now);
  await pruneSeen(db, now);
  await recountDue(db, signal);
}

async function seal(db: Db, dataDir: string, signal: AbortSignal): Promise<void> {
  const key = await keepLogKey(path.join(dataDir, 'log-key'), (await readInstallation(db)).id, undefined);
  const sealer = createSealer(db, key, async () => knowing(key));
  // With nothing to wait for, it is done when it says so.
  await repeatWork('steps are sealed', signal, async () => ({
    done: 1,
    isMore: (await sealer.seal()) === 'more',
  }));
  await sealer.checkpoint();
}

/** Repeats work until no more is left, and reports how much was done. */
async function repeatWork(
  name: string,
  signal: AbortSignal,
  work: () => Promise<{ readonly done: number; readonly isMore: boolean }>,
): Promise<void> {
  let all = 0;
  let reportedAt = performance.now();
  for (let isMore = true; isMore;) {
    signal.throwIfAborted();
    const step = await work();
    all += step.done;
    ({ isMore } = step);
    if (isMore && performance.now() - reportedAt < REPORT_MS) continue;
    console.error(`${name}: ${all}`);
    reportedAt = performance.now();
  }
}
