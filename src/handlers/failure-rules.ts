import type { FailureKind } from '../store/server/failure.ts';

/**
 * Every failure of a job, and its remedy. No rule drops a job: its deliveries are stored, or quarantined with the
 * reason, or the job comes back. A test covers each rule of these tables.
 */

/**
 * `again`: repeat the transaction after a short random pause. `wait`: repeat it after a pause that grows to 5 s, as
 * often as needed, while the worker keeps the job. `isolate records`: repeat it and quarantine each refused row.
 * `isolate deliveries`: a transaction for each delivery; one that fails alone three times is quarantined whole.
 * `quarantine`: at once.
 */
type Remedy = 'again' | 'wait' | 'isolate records' | 'isolate deliveries' | 'quarantine';

/** What the batch store does about a transaction that failed. */
export const STORING_RULES: Readonly<Record<FailureKind | 'conversion defect', Remedy>> = {
  // The other transaction commits, and then so does this one.
  deadlock: 'again',
  // The same transaction succeeds once the other is over.
  'serialization failure': 'again',
  // Another worker stored the same delivery: the next attempt finds it.
  'stored meanwhile': 'again',
  // A restart or a failover ends within seconds to minutes.
  'connection lost': 'wait',
  // After a failover, a connection may still go to the old primary: none is used for more than 30 s.
  'database read-only': 'wait',
  // Until somebody frees space, the queue keeps the acknowledged deliveries.
  'disk full': 'wait',
  // Other clients will release theirs.
  'too many connections': 'wait',
  // Another session holds a lock on the table; our own statements take seconds at most.
  'statement time-out': 'wait',
  // A missing permission or table, a broken index: the data is not to blame.
  'unknown SQLSTATE': 'wait',
  // Postgres will never accept this value, but everything else.
  'row refused': 'isolate records',
  // A defect of this program may concern one delivery, and must not block the others.
  defect: 'isolate deliveries',
  // Conversion is pure: it fails every time, until the program is fixed.
  'conversion defect': 'quarantine',
};
