/** Runs the work of sources by turns on the event loop, so that none waits for all that another has sent. */
export interface Turns {
  /** Runs the work now, if the event loop was not held for long and nothing waits; else when it is the source's turn. */
  run<T>(source: string, work: () => T): Promise<T>;
}

/** After so long everything else that the event loop has to do gets its turn: requests are read, answers are sent. */
const MAX_STRETCH_MS = 5;

/** `now` is a clock in milliseconds, `defer` runs a function in the next turn of the event loop. */
export function createTurns(
  now: () => number = () => performance.now(),
  defer: (next: () => void) => unknown = setImmediate,
): Turns {
  /** By source. The one at the front has the next turn. */
  const waiting = new Map<string, (() => void)[]>();
  let usedMs = 0;
  let isDeferred = false;

  function runMeasured(work: () => void): void {
    const began = now();
    work();
    usedMs += now() - began;
    if (isDeferred) return;
    isDeferred = true;
    defer(runWaiting);
  }

  function runWaiting(): void {
    isDeferred = false;
    usedMs = 0;
    for (const [source, works] of waiting) {
      if (usedMs > MAX_STRETCH_MS) return;
      waiting.delete(source);
      const next = works.shift();
      // It goes to the end, where this loop arrives again.
      if (works.length > 0) waiting.set(source, works);
      if (next !== undefined) runMeasured(next);
    }
  }

  return {
    run: (source, work) =>
      new Promise((resolve, reject) => {
        const settle = () => {
          try {
            resolve(work());
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        };
        if (waiting.size === 0 && usedMs <= MAX_STRETCH_MS) return runMeasured(settle);
        const works = waiting.get(source) ?? [];
        works.push(settle);
        waiting.set(source, works);
      }),
  };
}
