import type { FailureKind } from '../store/failure.ts';

/**
 * Every failure of a job, and its remedy. No rule drops a job: its deliveries are stored, or quarantined with the
 * reason, or the job comes back. A test covers each rule of this table.
 */

/**
 * `again`: repeat the transaction after a short random pause. `wait`: repeat it after a pause that grows to 5 s, as
 * often as needed, while the worker keeps the job. `isolate records`: repeat it and quarantine each refused row.
 * `isolate deliveries`: a transaction for each delivery; one that fails alone three times is quarantined whole.
 * `quarantine`: at once. `delay`: return the job to the queue, to be offered later. `come back`: BullMQ, or its client,
 * offers the job again by itself.
 */
type Remedy =
  'again' | 'wait' | 'isolate records' | 'isolate deliveries' | 'quarantine' | 'delay' | 'come back';

export interface FailureRule {
  readonly remedy: Remedy;
  readonly reason: string;
  /** What applies the rule, if not the batch store. */
  readonly by?: string;
}

/** Failures caused by a job's own data, or by a shut-down. */
type JobFailure =
  'conversion defect' | 'malformed data' | 'data of a newer version' | 'shut-down in an outage';

/** Failures of the worker's process and of the queue. */
type QueueFailure =
  | 'worker killed'
  | 'job fetched and never begun'
  | 'lock lost'
  | 'queue restarted with its data'
  | 'queue lost its data'
  | 'queue silent'
  | 'database silent'
  | 'job in the failed set'
  | 'unforeseen error';

export const FAILURE_RULES: Readonly<Record<FailureKind | JobFailure | QueueFailure, FailureRule>> = {
  deadlock: { remedy: 'again', reason: 'the other transaction commits, and then so does this one' },
  'serialization failure': {
    remedy: 'again',
    reason: 'the same transaction succeeds once the other is over',
  },
  'stored meanwhile': {
    remedy: 'again',
    reason: 'another worker stored the same delivery: the next attempt finds it',
  },

  'connection lost': { remedy: 'wait', reason: 'a restart or a failover ends within seconds to minutes' },
  'database read-only': {
    remedy: 'wait',
    reason:
      'after a failover a connection may still lead to the old primary: none is used for more than 30 s',
  },
  'disk full': {
    remedy: 'wait',
    reason: 'until somebody frees space, the queue keeps the acknowledged deliveries',
  },
  'too many connections': { remedy: 'wait', reason: 'other clients will release theirs' },
  'statement time-out': {
    remedy: 'wait',
    reason: 'another session holds a lock on the table; our own statements take seconds at most',
  },
  'unknown SQLSTATE': {
    remedy: 'wait',
    reason: 'a missing permission or table, a broken index: the data is not to blame',
  },

  'row refused': {
    remedy: 'isolate records',
    reason: 'Postgres will never accept this value, but everything else',
  },
  defect: {
    remedy: 'isolate deliveries',
    reason: 'a defect of this program may concern one delivery, and must not block the others',
  },
  'conversion defect': {
    remedy: 'quarantine',
    reason: 'conversion is pure: it fails every time, until the program is fixed',
  },
  'malformed data': {
    remedy: 'quarantine',
    by: 'readBatch',
    reason: 'the readable part of the job is stored, the rest is kept unchanged',
  },
  'data of a newer version': {
    remedy: 'delay',
    by: 'readBatch, moveToDelayed',
    reason: 'during an upgrade a newer worker processes it; after a downgrade, the next upgrade does',
  },
  'shut-down in an outage': {
    remedy: 'delay',
    by: 'OutageError, moveToDelayed',
    reason: 'the process must end; the next one processes the job',
  },

  'worker killed': {
    remedy: 'come back',
    by: 'lockDuration, stalledInterval, maxStalledCount',
    reason: 'nobody renews the locks of its jobs; storing a job twice changes nothing',
  },
  'job fetched and never begun': {
    remedy: 'come back',
    by: 'lockDuration, stalledInterval',
    reason: 'the job is active under a lock that nobody renews',
  },
  'lock lost': {
    remedy: 'come back',
    by: 'findStoredDeliveries',
    reason: 'another worker takes the job and finds its deliveries stored',
  },
  'queue restarted with its data': {
    remedy: 'come back',
    by: 'maxRetriesPerRequest: null',
    reason: 'the client reconnects and repeats the commands without an answer',
  },
  'queue lost its data': {
    remedy: 'come back',
    by: 'the batch in hand',
    reason: 'current jobs are stored from memory; then the worker takes new ones',
  },
  'queue silent': {
    remedy: 'come back',
    by: 'socketTimeout, query_timeout, keepAlive',
    reason: 'a network that drops packets would block a command for 15 minutes',
  },
  'database silent': {
    remedy: 'wait',
    by: "openDatabase's silence limit",
    reason: 'a network that drops packets would block a statement; the next attempt uses another connection',
  },
  'job in the failed set': {
    remedy: 'come back',
    by: 'startFailedJobSweep',
    reason: 'BullMQ may fail a job by its own rules; nobody looks for events there',
  },
  'unforeseen error': {
    remedy: 'delay',
    by: 'moveToDelayed, else attempts and backoff',
    reason: 'the job comes back until the cause is fixed',
  },
};
