import { describeError } from '../../errors.ts';
import { fail, LIMIT_MS, skipped } from './check.ts';
import type { Check, Finding } from './check.ts';

/** A check, and what it is going to find. */
export interface Running {
  readonly name: string;
  readonly finding: Promise<Finding>;
}

/**
 * Starts all checks at once; one that needs others waits for them, and is skipped when one of them failed. A finding
 * never rejects, and none takes longer than its limit, whatever hangs. `checks` has what others need before them.
 */
export function runChecks(checks: readonly Check[]): Running[] {
  const running = new Map<string, Promise<Finding>>();
  for (const check of checks) {
    const needed = (check.needs ?? []).map((name) => [name, running.get(name)] as const);
    running.set(check.name, runAfter(check, needed));
  }
  return [...running].map(([name, finding]) => ({ name, finding }));
}

async function runAfter(
  check: Check,
  needed: readonly (readonly [string, Promise<Finding> | undefined])[],
): Promise<Finding> {
  for (const [name, promise] of needed) {
    const finding = await promise;
    if (finding === undefined) throw new Error(`${check.name} stands before ${name}, which it needs`);
    if (isStopped(finding)) return skipped(`needs ${name}`);
  }
  return runWithinLimit(check);
}

const isStopped = ({ status, stops }: Finding) => stops ?? (status === 'fail' || status === 'skipped');

async function runWithinLimit(check: Check): Promise<Finding> {
  const { limitMs = LIMIT_MS, remedy = 'the message says what is wrong' } = check;
  const over = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<Finding>();
  const timer = setTimeout(() => {
    // Resolved first: what the abort makes it throw must not be told instead.
    resolve(check.whenLate ?? fail(`no answer within ${limitMs / 1_000} s`, remedy));
    over.abort();
  }, limitMs);
  try {
    return await Promise.race([check.run(over.signal), late]);
  } catch (error) {
    return fail(describeError(error), remedy);
  } finally {
    clearTimeout(timer);
  }
}
