import { setTimeout as sleep } from 'node:timers/promises';

/** Work that is repeated until it is stopped. */
export interface Repetition {
  /** Waits for the current round; no other begins. */
  stop(): Promise<void>;
}

/**
 * Runs work now, and again `pauseMs` after it ended, or at once if it resolves with `more`. Errors go to `onError`, and
 * the work is tried again.
 */
export function repeat(
  pauseMs: number | (() => number),
  work: () => Promise<'more' | 'done'>,
  onError: (error: unknown) => void,
): Repetition {
  const stopping = new AbortController();
  const { signal } = stopping;
  const next = () => (typeof pauseMs === 'number' ? pauseMs : pauseMs());

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const more = await work().catch((error: unknown) => {
        onError(error);
        return 'done' as const;
      });
      if (more === 'done') await sleep(next(), undefined, { signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
