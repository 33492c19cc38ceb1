import { setTimeout as sleep } from 'node:timers/promises';
import { shared } from '../lib/cached.ts';
import { isStoringBusy, readSealState } from '../store/seal/seal-log.ts';
import type { Db } from '../store/server/database.ts';

/** Rests after a part of long work, if storing needs the processor. */
export type GiveWay = () => Promise<void>;

/** Storing is looked at so often, and counts as busy for so long: at full load, a seal makes it look idle for 0.7 s. */
const LOOK_MS = 1_000;
const BUSY_MS = 10_000;

/**
 * While storing is busy, a rest is so many times as long as the work since the last one, between these limits. The month is
 * read in one transaction, which must not last for ever.
 */
const REST = 9;
const [LEAST_REST_MS, LONGEST_REST_MS] = [10, 1_000];

/** Lets storing go first. The work is to be done in parts that delay no answer: of some milliseconds each. */
export function givingWay(db: Db): GiveWay {
  let busyUntil = 0;
  let since = performance.now();
  const look = shared(async () => {
    if (isStoringBusy(await readSealState(db))) busyUntil = performance.now() + BUSY_MS;
  }, LOOK_MS);
  return async () => {
    const worked = performance.now() - since;
    await look();
    if (performance.now() < busyUntil)
      await sleep(Math.min(Math.max(REST * worked, LEAST_REST_MS), LONGEST_REST_MS));
    since = performance.now();
  };
}

/** Postgres loads so many bytes in a millisecond. */
const PIECE_BYTES = 64 * 1024;

/** The same data, with a rest after each piece. */
export async function* inPieces(data: AsyncIterable<Buffer>, giveWay: GiveWay): AsyncGenerator<Buffer> {
  let sent = 0;
  for await (const part of data) {
    yield part;
    sent += part.length;
    if (sent < PIECE_BYTES) continue;
    sent = 0;
    await giveWay();
  }
}
