import type { Check, Checks, Finding, State } from '../observe/readiness.ts';
import type { Arrival } from '../observe/worker-metrics.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import { checkDatabase } from '../store/database.ts';
import type { Db } from '../store/database.ts';
import type { DestinationStatus } from '../store/destinations.ts';
import { describeWork } from '../store/server-sessions.ts';
import { findWaits } from '../store/waits.ts';
import type { Wait } from '../store/waits.ts';
import { countOf, formatBytes } from '../units.ts';
import { describeBlocked } from './maintenance.ts';
import { forwardsIn, storesIn } from './roles.ts';
import type { Role } from './roles.ts';
import type { Observation } from './observation.ts';

export interface CheckedParts {
  readonly role: Role;
  readonly db: Db | undefined;
  /** Undefined in a process that accepts no deliveries. */
  readonly queue: DeliveryQueue | undefined;
  readonly observation: Pick<Observation, 'askDestinations' | 'blockedChanges'> & {
    readonly arrivals: () => readonly Arrival[];
  };
}

/** A destination counts as behind if its oldest unsent event is older than this: polls and retries are over by then. */
const BEHIND_AFTER_MS = 5 * 60 * 1000;

/**
 * The readiness checks of a process of this role. Forwarding and silence never make it unavailable: deliveries are
 * accepted all the same.
 */
export function checksOf({ role, db, queue, observation }: CheckedParts): Checks {
  return {
    ...(queue === undefined ? {} : { queue: queueCheck(queue), spool: spoolCheck(queue) }),
    ...(db === undefined
      ? {}
      : { database: databaseCheck(db, role), locks: locksCheck(() => findWaits(db), observation) }),
    ...(forwardsIn(role) ? { forwarding: forwardingCheck(observation) } : {}),
    ...(storesIn(role) ? { silence: silenceCheck(observation) } : {}),
  };
}

/** Deliveries are accepted while the queue or the spool is available, even if they cannot be stored now. */
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
    return {
      state,
      why: `${formatBytes(bytes)} in ${countOf(segments, 'file')}, room for ${formatBytes(bytesLeft)} more`,
    };
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

/** Lock waits and long transactions in the database; maintenance reports the sessions that it waits for itself. */
export function locksCheck(
  find: () => Promise<readonly Wait[]>,
  { blockedChanges }: Pick<CheckedParts['observation'], 'blockedChanges'>,
): Check {
  const ask = async (): Promise<Finding> => {
    const blocked = blockedChanges().map((change) => ({
      name: 'maintenance',
      state: 'waiting' as const,
      why: describeBlocked(change),
    }));
    const waits = await find().catch(() => undefined);
    if (waits === undefined && blocked.length === 0) {
      return { state: 'unknown', why: 'the database does not answer' };
    }
    const parts = (waits ?? []).map(({ waiting, session }) => ({
      name: waiting,
      state: 'waiting' as const,
      why: describeWork(session),
    }));
    return worstOf([...parts, ...blocked], ['waiting']);
  };
  return { ask, isNeeded: false };
}

function forwardingCheck({ askDestinations }: CheckedParts['observation']): Check {
  const ask = async (): Promise<Finding> => {
    const destinations = await askDestinations();
    if (destinations === undefined) return { state: 'unknown', why: 'the database does not answer' };
    return worstOf(destinations.map(describeDestination), ['refused', 'behind']);
  };
  return { ask, isNeeded: false };
}

function describeDestination(status: DestinationStatus) {
  const { name, state, behind_count: count, behind_since: since, last_error: error } = status;
  const lag = since === null ? '' : `${countOf(count, 'event')} to send, oldest: ${since.toISOString()}`;
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

/** The worst state that any part is in, of these states (worst first); else ok. */
function worstOf(parts: NonNullable<Finding['parts']>, worstFirst: readonly State[]): Finding {
  const state = worstFirst.find((bad) => parts.some((part) => part.state === bad)) ?? 'ok';
  return { state, parts };
}
