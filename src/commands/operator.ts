import os from 'node:os';
import type { Operator } from '../store/operator-log.ts';

/** Who runs this command: the user of the operating system, and its host. */
export function commandOperator(): Operator {
  return { name: `${os.userInfo().username}@${os.hostname()}`, via: 'command' };
}
