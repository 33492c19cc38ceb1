import { setTimeout as sleep } from 'node:timers/promises';

/** Work that is done again and again. */
export interface Repetition {
  /** Waits for the round that is under way; no other begins. */
  stop(): Promise<void>;
}

/**
 * Does something now, and again so many milliseconds after it ended; at once when it resolves with `more`. What it
 * throws goes to `onError`, and it is tried again.
 */
export function repeat(
  everyMs: number,
  work: () => Promise<'more' | 'done'>,
  onError: (error: unknown) => void,
): Repetition {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const more = await work().catch((error: unknown) => {
        onError(error);
        return 'done' as const;
      });
      if (more === 'done') await sleep(everyMs, undefined, { signal }).catch(() => undefined);
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
