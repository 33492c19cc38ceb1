import { setTimeout as sleep } from 'node:timers/promises';
import { countDeliveries, readFound } from './found.ts';
import { judge, type Judgement } from './judge.ts';
import type { Obligation } from './ledger.ts';

const LOOK_EVERY_MS = 250;

export interface Patience {
  /** Milliseconds without a further delivery in the tables. */
  readonly idle: number;
  /** Milliseconds in all. */
  readonly settle: number;
}

/** Waits until every obligation is met, or nothing more comes, or the time is over; then judges the rows of `source`, else of all. */
export async function settle(
  databaseUrl: string,
  obligations: readonly Obligation[],
  patience: Patience,
  onProgress: (stored: number) => void,
  signal: AbortSignal,
  source?: string,
): Promise<Judgement> {
  const began = Date.now();
  let stored = -1;
  let grewAt = began;
  for (;;) {
    const counted = await countDeliveries(databaseUrl);
    if (counted > stored) {
      stored = counted;
      grewAt = Date.now();
      onProgress(stored);
    }
    const isOver = Date.now() - grewAt > patience.idle || Date.now() - began > patience.settle;
    if (stored >= obligations.length || isOver) {
      const judgement = judge(obligations, await readFound(databaseUrl, source));
      if (judgement.lost === 0 || isOver) return judgement;
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}
