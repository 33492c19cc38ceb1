import type { Check, Checks, Finding, State } from '../observe/readiness.ts';
import type { Arrival } from '../observe/worker-metrics.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import { checkDatabase } from '../store/database.ts';
import type { Db } from '../store/database.ts';
import type { DestinationStatus } from '../store/destinations.ts';
import { forwardsIn, storesIn } from './roles.ts';
import type { Role } from './roles.ts';
import type { Observation } from './observation.ts';

export interface CheckedParts {
  readonly role: Role;
  readonly db: Db | undefined;
  /** Of a process that takes deliveries. */
  readonly queue: DeliveryQueue | undefined;
  readonly observation: Pick<Observation, 'askDestinations'> & {
    readonly arrivals: () => readonly Arrival[];
  };
}

/** A destination that has waited for an event for so long is behind: polls and pauses are over by then. */
const BEHIND_AFTER_MS = 5 * 60 * 1000;

/**
 * What a process of this role depends on, and what a person should know about. Forwarding and silence never make it
 * unavailable: deliveries are taken all the same.
 */
export function checksOf({ role, db, queue, observation }: CheckedParts): Checks {
  return {
    ...(queue === undefined ? {} : { queue: queueCheck(queue), spool: spoolCheck(queue) }),
    ...(db === undefined ? {} : { database: databaseCheck(db, role) }),
    ...(forwardsIn(role) ? { forwarding: forwardingCheck(observation) } : {}),
    ...(storesIn(role) ? { silence: silenceCheck(observation) } : {}),
  };
}

/** Deliveries are taken while there is a queue or a spool to take them, whether or not they can be stored now. */
function queueCheck(queue: DeliveryQueue): Check {
  const ask = async (): Promise<Finding> => {
    if ((await queue.check()) === 'queued') return { state: 'ok' };
    return { state: 'spooling', why: queue.state().failure };
  };
  return { ask, isNeeded: true };
}

function spoolCheck(queue: DeliveryQueue): Check {
  const ask = async (): Promise<Finding> => {
    const { state, bytesLeft } = await queue.spoolRoom();
    const { bytes, segments } = queue.state().spool;
    if (segments === 0 && state === 'ok') return { state };
    return { state, why: `${bytes} bytes in ${segments} files, room for ${bytesLeft} more` };
  };
  return { ask, isNeeded: false };
}

function databaseCheck(db: Db, role: Role): Check {
  const ask = async () => {
    await checkDatabase(db);
    return 'ok' as const;
  };
  return { ask, isNeeded: role !== 'all' && role !== 'ingest' };
}

function forwardingCheck({ askDestinations }: CheckedParts['observation']): Check {
  const ask = async (): Promise<Finding> => {
    const destinations = await askDestinations();
    if (destinations === undefined) return { state: 'unknown', why: 'the database does not say' };
    return worstOf(destinations.map(describeDestination), ['refused', 'behind']);
  };
  return { ask, isNeeded: false };
}

function describeDestination(status: DestinationStatus) {
  const { name, state, behind_count: count, behind_since: since, last_error: error } = status;
  const lag = since === null ? '' : `${count} events to send, the oldest of ${since.toISOString()}`;
  const why = [state === 'running' ? '' : state, lag, error ?? ''].filter((part) => part !== '').join('; ');
  if (state === 'refused') return { name, state: 'refused' as const, why };
  const isBehind = state === 'running' && since !== null && Date.now() - since.getTime() > BEHIND_AFTER_MS;
  return { name, state: isBehind ? ('behind' as const) : ('ok' as const), why };
}

function silenceCheck({ arrivals }: CheckedParts['observation']): Check {
  const ask = async (): Promise<Finding> => {
    const parts = arrivals().map(({ source, messageType, state, lastReceivedAt }) => ({
      name: `${source} ${messageType}`,
      state: state === 'unusual' ? ('unusually quiet' as const) : ('ok' as const),
      why: lastReceivedAt === undefined ? 'never received' : `last received ${lastReceivedAt.toISOString()}`,
    }));
    return worstOf(parts, ['unusually quiet']);
  };
  return { ask, isNeeded: false };
}

/** The state of the whole: the first of these, worst first, that any part is in. */
function worstOf(parts: NonNullable<Finding['parts']>, worstFirst: readonly State[]): Finding {
  const state = worstFirst.find((bad) => parts.some((part) => part.state === bad)) ?? 'ok';
  return { state, parts };
}
