import type { FailureKind } from '../store/failure.ts';

/**
 * Everything that can keep a job from being done, and what is done about it. No rule ends a job: its deliveries are
 * stored, or lie in quarantine with the reason, or the job comes back. A test walks this table.
 */

/**
 * `again`: the same transaction after a short random pause. `wait`: the same after a pause that grows to 5 s, as often
 * as it takes, the job in hand. `isolate records`: the transaction again, each refused row to quarantine.
 * `isolate deliveries`: each delivery in a transaction of its own; one that fails alone three times goes to quarantine
 * whole. `quarantine`: at once. `delay`: the job rests in the queue and is offered again. `come back`: BullMQ, or its
 * client, hands the job out again by itself.
 */
type Remedy =
  'again' | 'wait' | 'isolate records' | 'isolate deliveries' | 'quarantine' | 'delay' | 'come back';

export interface FailureRule {
  readonly remedy: Remedy;
  readonly reason: string;
  /** What carries the rule out, where that is not the batch store. */
  readonly by?: string;
}

/** Of a job's own data. */
type JobFailure =
  'conversion defect' | 'malformed data' | 'data of a newer version' | 'shut-down in an outage';

/** Of the worker's process and of the queue. */
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
  deadlock: { remedy: 'again', reason: 'the other transaction goes through, and then so does this one' },
  'serialization failure': {
    remedy: 'again',
    reason: 'the same transaction succeeds once the other is over',
  },
  'stored meanwhile': {
    remedy: 'again',
    reason: 'another worker had the same delivery: the next look finds it stored',
  },

  'connection lost': { remedy: 'wait', reason: 'a restart or a failover ends within seconds to minutes' },
  'database read-only': {
    remedy: 'wait',
    reason:
      'after a failover a connection may still lead to the old primary: none is used for more than half a minute',
  },
  'disk full': {
    remedy: 'wait',
    reason: 'somebody makes room; until then the queue holds what was answered',
  },
  'too many connections': { remedy: 'wait', reason: 'others will let go of theirs' },
  'statement time-out': {
    remedy: 'wait',
    reason: 'somebody holds a lock on the table; a statement of ours takes seconds at most',
  },
  'unknown SQLSTATE': {
    remedy: 'wait',
    reason: 'a missing right or table, a broken index: the data is not to blame and must not be judged by it',
  },

  'row refused': {
    remedy: 'isolate records',
    reason: 'Postgres will never take this value; everything else it will',
  },
  defect: {
    remedy: 'isolate deliveries',
    reason: 'a mistake in this program may concern one delivery, and must not hold up the others',
  },
  'conversion defect': {
    remedy: 'quarantine',
    reason: 'conversion is pure: what fails once fails always, until the program is mended',
  },
  'malformed data': {
    remedy: 'quarantine',
    by: 'readBatch',
    reason: 'what can be read of the job is stored, the rest is kept as it is',
  },
  'data of a newer version': {
    remedy: 'delay',
    by: 'readBatch, moveToDelayed',
    reason: 'during an upgrade a newer worker will take it; after a downgrade, the next upgrade',
  },
  'shut-down in an outage': {
    remedy: 'delay',
    by: 'OutageError, moveToDelayed',
    reason: 'the process must end; the job is for the next one',
  },

  'worker killed': {
    remedy: 'come back',
    by: 'lockDuration, stalledInterval, maxStalledCount',
    reason: 'nobody renews the lock of its jobs; storing one twice changes nothing',
  },
  'job fetched and never begun': {
    remedy: 'come back',
    by: 'lockDuration, stalledInterval',
    reason: 'it is active under a lock that nobody renews',
  },
  'lock lost': {
    remedy: 'come back',
    by: 'findStoredDeliveries',
    reason: 'another worker has taken the job and finds its deliveries stored',
  },
  'queue restarted with its data': {
    remedy: 'come back',
    by: 'maxRetriesPerRequest: null',
    reason: 'the client connects again and says again what had no answer',
  },
  'queue lost its data': {
    remedy: 'come back',
    by: 'the batch in hand',
    reason: 'jobs in hand are stored from memory; the worker takes what comes next',
  },
  'queue silent': {
    remedy: 'come back',
    by: 'socketTimeout, query_timeout, keepAlive',
    reason: 'a network that drops packets would hold a command for a quarter of an hour',
  },
  'database silent': {
    remedy: 'wait',
    by: "openDatabase's silence limit",
    reason: 'likewise; the next attempt takes another connection',
  },
  'job in the failed set': {
    remedy: 'come back',
    by: 'startFailedJobSweep',
    reason: 'BullMQ may judge by rules of its own; nobody looks for events there',
  },
  'unforeseen error': {
    remedy: 'delay',
    by: 'moveToDelayed, else attempts and backoff',
    reason: 'it comes back until somebody mends it',
  },
};
