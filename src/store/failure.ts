import { DatabaseError } from 'pg';

/**
 * What a failed statement asks for. `data`: this statement's values can never be stored. `conflict`: another
 * transaction was in the way, the same statement will succeed. `outage`: the database cannot do its work now,
 * for reasons that somebody or time will mend. `defect`: not the database's error at all.
 */
export type Failure = 'data' | 'conflict' | 'outage' | 'defect';

/** SQLSTATE classes that blame the values: data exception, integrity constraint, program limit exceeded. */
const DATA_CLASSES = new Set(['22', '23', '54']);

/** Serialization failure and deadlock. */
const CONFLICT_CODES = new Set(['40001', '40P01']);

/** What pg says of a connection that broke or could not be had, where the operating system gave no code. */
const CONNECTION_MESSAGE =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered/;

/** Reads a failure from what a database call threw (PostgreSQL manual, appendix A; Node.js system errors). */
export function classifyFailure(error: unknown): Failure {
  if (error instanceof DatabaseError) {
    const code = error.code ?? '';
    if (DATA_CLASSES.has(code.slice(0, 2))) return 'data';
    return CONFLICT_CODES.has(code) ? 'conflict' : 'outage';
  }
  if (!(error instanceof Error)) return 'defect';
  // Values that together make a longer text than V8 can hold: fewer of them fit.
  if (error instanceof RangeError) return 'data';
  if ('syscall' in error || CONNECTION_MESSAGE.test(error.message)) return 'outage';
  return error instanceof AggregateError ? 'outage' : 'defect';
}
