/** How often something is asked, and how long its answer is waited for, in milliseconds. */
export interface Patience {
  readonly keepMs: number;
  readonly patienceMs: number;
}

/**
 * Makes of a question one that may be put at any rate: it is asked once in `keepMs`, and those who ask meanwhile get
 * the same answer. Undefined when it fails, or gives no answer in time; it never rejects.
 */
export function askSeldom<T>(
  ask: () => Promise<T>,
  { keepMs, patienceMs }: Patience,
): () => Promise<T | undefined> {
  let askedAt = -Infinity;
  let answer: Promise<T | undefined> = Promise.resolve(undefined);
  return () => {
    const now = performance.now();
    if (now - askedAt >= keepMs) {
      askedAt = now;
      answer = withPatience(ask, patienceMs);
    }
    return answer;
  };
}

async function withPatience<T>(ask: () => Promise<T>, patienceMs: number): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), patienceMs);
  try {
    return await Promise.race([ask().catch(() => undefined), late]);
  } finally {
    clearTimeout(timer);
  }
}
