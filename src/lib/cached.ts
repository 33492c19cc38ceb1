import pTimeout from 'p-timeout';

/** Lets calls within `maxAgeMs` share one result. A failure is shared by nobody who calls after it. */
export function shared<T>(load: () => Promise<T>, maxAgeMs: number): () => Promise<T> {
  let last: { readonly at: number; readonly value: Promise<T> } | undefined;
  return () => {
    const now = performance.now();
    if (last === undefined || now - last.at >= maxAgeMs) {
      const value = load();
      last = { at: now, value };
      value.catch(() => {
        last = undefined;
      });
    }
    return last.value;
  };
}

/** As `shared`, but never rejects: undefined, also for as long, if `load` fails or takes longer than `timeoutMs`. */
export const cached = <T>(
  load: () => Promise<T>,
  { keepMs, timeoutMs }: { readonly keepMs: number; readonly timeoutMs: number },
) => shared(() => pTimeout(load(), { milliseconds: timeoutMs }).catch(() => undefined), keepMs);
