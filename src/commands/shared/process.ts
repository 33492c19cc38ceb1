import os from 'node:os';
import { ConflictError, NotFoundError, UsageError } from '../../lib/errors.ts';
import type { Operator } from '../../store/access/operator-log.ts';

/** Exit codes of every command: 0 success, 1 failure, 2 wrong usage or configuration, 3 a check found a difference. */
export const FAILED = 1;
export const WRONG_USAGE = 2;
export const DIFFERENT = 3;

/** Fires at the first Ctrl-C or SIGTERM, and when the reader of the output is gone (`| head`). */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  process.stdout.once('error', () => stop.abort());
  return stop.signal;
}

/** The operator of a command: the operating system's user at this machine. A container may not know a name for it. */
export function commandOperator(): Operator {
  return { name: `${userName()}@${os.hostname()}`, via: 'command' };
}

/** What does not exist, and what the present state refuses, is wrong usage: the person has to change the command. */
export const exitCodeOf = (error: unknown): number =>
  [UsageError, NotFoundError, ConflictError].some((one) => error instanceof one) ? WRONG_USAGE : FAILED;

function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
