import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, HttpError } from '../../errors.ts';

/** A part that could not be read, and why. */
interface Problem {
  readonly part: string;
  readonly why: string;
}

/** Reads parts of a page so that one that fails or hangs leaves the others. */
export interface Gathering {
  /**
   * What the work resolves with; null, with a problem written down, when it fails or takes too long. Throws
   * HttpError: what a person asked for wrongly is no fault of a part.
   */
  readonly read: <T>(part: string, work: () => Promise<T>) => Promise<T | null>;
  readonly problems: readonly Problem[];
}

/** A person waits no longer for a page; what has not answered by then is away. */
const PATIENCE_MS = 3_000;

/** Begins to gather parts, each of which may take so many milliseconds. */
export function startGathering(patienceMs = PATIENCE_MS): Gathering {
  const problems: Problem[] = [];
  return {
    problems,
    async read(part, work) {
      try {
        return await withinTime(work, patienceMs);
      } catch (error) {
        if (error instanceof HttpError) throw error;
        problems.push({ part, why: describeError(error) });
        return null;
      }
    },
  };
}

async function withinTime<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
  const settled = new AbortController();
  const late = sleep(patienceMs, undefined, { signal: settled.signal }).then(() => {
    throw new Error(`it did not answer within ${patienceMs / 1000} s`);
  });
  // Once the work has settled nobody hears that the wait was called off.
  late.catch(() => undefined);
  try {
    return await Promise.race([work(), late]);
  } finally {
    settled.abort();
  }
}
