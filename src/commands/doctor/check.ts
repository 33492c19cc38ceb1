import pTimeout from 'p-timeout';
import { describeError, UsageError } from '../../lib/errors.ts';

/** The result of a check. `skipped`: the check was not made, because another one that it needs failed. */
export type Status = 'ok' | 'warn' | 'fail' | 'skipped';

export interface Finding {
  readonly status: Status;
  readonly message: string;
  readonly remedy?: string | undefined;
  /** Whether checks that need this one are skipped; by default when it failed or was skipped. */
  readonly stops?: boolean;
}

export interface Check {
  readonly name: string;
  /** The names of earlier checks that must not have failed. */
  readonly needs?: readonly string[];
  /** The fix when it throws or times out. */
  readonly remedy?: string;
  /** The finding when it times out; by default a failure. */
  readonly whenLate?: Finding;
  /** Its time limit in milliseconds; by default `LIMIT_MS`. */
  readonly limitMs?: number;
  /** Makes the check. An error that it throws is a failed finding. The signal fires at the time limit. */
  run(signal: AbortSignal): Promise<Finding>;
}

export const LIMIT_MS = 5_000;

export const FULL_LIMIT_MS = 60 * 60 * 1000;

export const ok = (message: string): Finding => ({ status: 'ok', message });

export const warn = (message: string, remedy: string): Finding => ({ status: 'warn', message, remedy });

export const fail = (message: string, remedy: string): Finding => ({ status: 'fail', message, remedy });

export const skipped = (message: string, remedy?: string): Finding => ({
  status: 'skipped',
  message,
  remedy,
});

export interface Running {
  readonly name: string;
  readonly finding: Promise<Finding>;
}

/**
 * Starts all checks at once. A check that needs others waits for them, and is skipped when one of them failed; those
 * others must come before it in `checks`. A finding never rejects, and never takes longer than its limit.
 */
export function runChecks(checks: readonly Check[]): Running[] {
  const running = new Map<string, Promise<Finding>>();
  for (const check of checks) {
    const needed = (check.needs ?? []).map((name) => [name, running.get(name)] as const);
    running.set(check.name, runAfter(check, needed));
  }
  return [...running].map(([name, finding]) => ({ name, finding }));
}

async function runAfter(check: Check, needed: readonly (readonly [string, Promise<Finding> | undefined])[]) {
  for (const [name, promise] of needed) {
    const finding = await promise;
    if (finding === undefined) throw new Error(`${check.name} stands before ${name}, which it needs`);
    if (isStopped(finding)) return skipped(`needs ${name}`);
  }
  return runWithinLimit(check);
}

const isStopped = ({ status, stops }: Finding) => stops ?? (status === 'fail' || status === 'skipped');

const SEE_MESSAGE = 'see the message for the cause';

async function runWithinLimit(check: Check): Promise<Finding> {
  const { limitMs = LIMIT_MS, remedy = SEE_MESSAGE } = check;
  const over = new AbortController();
  try {
    return await pTimeout(check.run(over.signal), {
      milliseconds: limitMs,
      fallback() {
        over.abort();
        return check.whenLate ?? fail(`no answer within ${limitMs / 1_000} s`, remedy);
      },
    });
  } catch (error) {
    return fail(describeError(error), error instanceof UsageError ? SEE_MESSAGE : remedy);
  }
}
