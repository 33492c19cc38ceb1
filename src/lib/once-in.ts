import { LRUCache } from 'lru-cache';
import pTimeout from 'p-timeout';

/** Keys may contain addresses and ports, so there may be any number of them. */
const MAX_KEYS = 100;

/** Creates the test whether a key was let through less than `ms` ago: for log lines that somebody could repeat at will. */
export function onceIn(ms: number, now: () => number = () => performance.now()): (key?: string) => boolean {
  const passedAt = new LRUCache<string, number>({ max: MAX_KEYS });
  return (key = '') => {
    const at = now();
    if (at - (passedAt.get(key) ?? -Infinity) < ms) return false;
    passedAt.set(key, at);
    return true;
  };
}

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
