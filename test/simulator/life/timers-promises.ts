/** `node:timers/promises` of one life of a process. */
import { startingProcess } from '../simulated-process.ts';

const self = startingProcess();

export function setTimeout<T>(
  ms = 1,
  value?: T,
  { signal }: { signal?: AbortSignal } = {},
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      self.surroundings.clockwork.cancel(due);
      reject(new Error('The operation was aborted', { cause: signal?.reason }));
    };
    const due = self.after(Math.max(1, ms), () => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    });
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

export const setImmediate = <T>(value?: T) =>
  new Promise<T | undefined>((resolve) => self.after(0, () => resolve(value)));
