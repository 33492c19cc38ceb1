import type { Db } from '../../store/server/database.ts';
import { recordAction, type OperatorAction } from '../../store/access/operator-log.ts';
import { commandOperator } from './process.ts';

/** Runs what a command does, and records it in the operator log as done by the user of this machine. */
export function recordCommand<T>(
  db: Db,
  action: Omit<OperatorAction, 'operator'>,
  work: () => Promise<T>,
  resultOf?: (result: T) => Readonly<Record<string, unknown>>,
): Promise<T> {
  return recordAction(db, { operator: commandOperator(), ...action }, work, resultOf);
}
