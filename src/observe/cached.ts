import pTimeout from 'p-timeout';

/**
 * Wraps `load` so that it runs at most once in `keepMs`, however often the result is called: calls in between share one
 * value. The value is undefined if `load` fails or takes longer than `timeoutMs`. The result never rejects.
 */
export function cached<T>(
  load: () => Promise<T>,
  { keepMs, timeoutMs }: { readonly keepMs: number; readonly timeoutMs: number },
): () => Promise<T | undefined> {
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
