import { DatabaseError } from 'pg';
import { isConnectionFailure, OutageError } from '../../lib/errors.ts';
import { WAITING_CONSTRAINT } from '../partitions/partitioned-tables.ts';

/** Why a statement or a transaction failed. The failure rules define the remedy for each. */
export type FailureKind =
  | 'row refused'
  | 'deadlock'
  | 'serialization failure'
  | 'stored meanwhile'
  | 'connection lost'
  | 'database read-only'
  | 'disk full'
  | 'too many connections'
  | 'statement time-out'
  | 'unknown SQLSTATE'
  | 'defect';

/** Another transaction has stored one of these deliveries since this one checked: nothing was written. */
export class StoredMeanwhileError extends Error {
  override readonly name = 'StoredMeanwhileError';
}

/** PostgreSQL manual, appendix A: a full code, or the first characters of a class of codes. */
const KIND_OF_SQLSTATE: ReadonlyMap<string, FailureKind> = new Map([
  // Data exception, integrity constraint, with check option, program limit, raised by a trigger.
  ...['22', '23', '44', '54', 'P0'].map((code) => [code, 'row refused'] as const),
  // Connection exception; shut-down, crash, start-up and dropped database; an idle session that was terminated.
  ...['08', '57P', '25P03'].map((code) => [code, 'connection lost'] as const),
  ['40P01', 'deadlock'],
  ['40001', 'serialization failure'],
  ['25006', 'database read-only'],
  ['53100', 'disk full'],
  ['53300', 'too many connections'],
  ['57014', 'statement time-out'],
]);

/** Classifies an error that a database call threw (SQLSTATE; Node.js system errors). */
export function classifyFailure(error: unknown): FailureKind {
  // The month of the row is getting its partition: until then, the row waits as for a lock.
  if (error instanceof DatabaseError && error.constraint === WAITING_CONSTRAINT) return 'statement time-out';
  if (error instanceof DatabaseError) return kindOfSqlState(error.code ?? '');
  if (error instanceof StoredMeanwhileError) return 'stored meanwhile';
  // The values together exceed V8's longest string: fewer of them fit.
  if (error instanceof RangeError) return 'row refused';
  if (error instanceof OutageError) return 'connection lost';
  return error instanceof Error && isConnectionFailure(error) ? 'connection lost' : 'defect';
}

function kindOfSqlState(code: string): FailureKind {
  const known = [code, code.slice(0, 3), code.slice(0, 2)].map((prefix) => KIND_OF_SQLSTATE.get(prefix));
  return known.find((kind) => kind !== undefined) ?? 'unknown SQLSTATE';
}
