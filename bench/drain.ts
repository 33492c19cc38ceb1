import { setTimeout as sleep } from 'node:timers/promises';

/** Rows in the table, and the time (epoch milliseconds) at which the last of them was counted. */
export interface Drained {
  readonly rows: number;
  readonly at: number;
  /** Whether rows were still coming when the time was over. */
  readonly cutShort: boolean;
}

const POLL_MS = 200;

/**
 * To count rows takes the database's time from storing, so half of the time that the rest is likely to take passes until
 * the next count. The rate is in rows per millisecond.
 */
const pauseMs = (rest: number, rate: number) =>
  rate > 0 ? Math.min(Math.max(POLL_MS, rest / rate / 2), MAX_PAUSE_MS) : POLL_MS;

const MAX_PAUSE_MS = 5_000;

/** A program that stores nothing new for this long has finished, or never will. */
const IDLE_MS = 10_000;

/**
 * Waits, after a load has ended, until the expected number of rows is stored, no more rows come, or `limit` seconds have
 * passed. It counts once more after the last expected row, to detect extra rows.
 */
export async function drain(
  countRows: () => Promise<number>,
  expected: number,
  limit: number,
  signal: AbortSignal,
): Promise<Drained> {
  const started = Date.now();
  const first = await countRows();
  let rows = first;
  let at = started;
  for (;;) {
    const complete = rows >= expected;
    const counted = await countRows();
    const now = Date.now();
    if (counted > rows) {
      rows = counted;
      at = now;
    }
    if (complete || now - at > IDLE_MS) return { rows, at, cutShort: false };
    if (now - started > limit * 1_000) return { rows, at, cutShort: rows < expected };
    await sleep(pauseMs(expected - rows, (rows - first) / (now - started)), undefined, { signal });
  }
}
