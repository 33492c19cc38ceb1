import pTimeout from 'p-timeout';

/** How long a value is kept, and how long loading it may take, in milliseconds. */
export interface CacheTimes {
  readonly keepMs: number;
  readonly timeoutMs: number;
}

/**
 * Wraps `load` so that it runs at most once in `keepMs`, however often the result is called: calls in between share one
 * value. The value is undefined if `load` fails or takes longer than `timeoutMs`. The result never rejects.
 */
export function cached<T>(load: () => Promise<T>, times: CacheTimes): () => Promise<T | undefined> {
  const { keepMs, timeoutMs } = times;
  let loadedAt = -Infinity;
  let value: Promise<T | undefined> = Promise.resolve(undefined);
  return () => {
    const now = performance.now();
    if (now - loadedAt >= keepMs) {
      loadedAt = now;
      value = pTimeout(load(), { milliseconds: timeoutMs }).catch(() => undefined);
    }
    return value;
  };
}
