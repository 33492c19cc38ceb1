import { setTimeout } from 'node:timers/promises';

/** Time as the emulator lives it: `now` in epoch milliseconds; `sleep` ends early, without an error, on abort. */
export interface Clock {
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: Date.now,
  async sleep(ms, signal) {
    try {
      await setTimeout(ms, undefined, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  },
};
