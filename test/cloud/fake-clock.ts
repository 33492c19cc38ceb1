import type { Clock } from '../../src/lib/clock.ts';

/** A clock whose sleeps return at once, moving the time on; it remembers how long each was asked to be. */
export interface FakeClock extends Clock {
  sleeps: number[];
  advance(ms: number): void;
}

export function createFakeClock(startAt = Date.parse('2026-01-01T00:00:00Z')): FakeClock {
  let now = startAt;
  const sleeps: number[] = [];
  return {
    sleeps,
    now: () => now,
    advance(ms) {
      now += ms;
    },
    sleep(ms, signal) {
      signal?.throwIfAborted();
      sleeps.push(ms);
      now += ms;
      return Promise.resolve();
    },
  };
}
