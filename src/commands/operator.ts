import os from 'node:os';
import type { Operator } from '../store/operator-log.ts';

/** Who runs this command: the user of the operating system, at this machine. A container may not know its user's name. */
export function commandOperator(): Operator {
  return { name: `${userName()}@${os.hostname()}`, via: 'command' };
}

function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
