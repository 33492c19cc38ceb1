import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import { describeError, OutageError } from '../errors.ts';
import type { Db } from '../store/database.ts';
import { checkpoint, recordFailure, releaseLease, takeLease, type Lease } from '../store/destinations.ts';
import { readStretch, type Stretch } from '../store/read-events.ts';
import type { StoredPosition } from '../store/stored-event.ts';
import { ALL_SOURCES } from '../store/scope.ts';
import { createBackoff } from './backoff.ts';
import { createBatcher, type BatchLimits } from './batch-events.ts';
import { messageTypesOf, type DestinationFilter } from './destination-filter.ts';
import { sendBisecting } from './send-bisecting.ts';
import { EndpointRefusedError, RetryLaterError, type Sender, type Format } from './sender.ts';

/** A destination that is ready to receive events. */
export interface Forwarding {
  readonly name: string;
  readonly sender: Sender;
  /** Redacts an event and writes it in the destination's format. */
  readonly format: Format;
  readonly filter: DestinationFilter;
  readonly limits: BatchLimits;
}

/** Counts what happens at destinations. Its functions must not throw. */
export interface ForwardObserver {
  /** The destination accepted this many events and rejected this many. */
  sent(destination: string, events: number, rejected: number): void;
  /** An attempt failed and will be repeated. */
  failed(destination: string): void;
}

/**
 * How many events one query reads, enough for several batches unless the batch limit is larger. A query costs 7 ms and
 * 10 us per event.
 */
const STRETCH_EVENTS = 1_000;

/** If a process dies, another one takes over its destinations within this time. */
const LEASE_SECONDS = 30;
const LEASE_RENEWAL_MS = 10_000;

/** Half of the time that the whole program has to stop. */
const STOP_TIMEOUT_MS = 5_000;

/** How often to look for new events, and for a lease that another process holds. */
const POLL_MS = 500;

/** Forwarding in progress. */
interface RunningForwarding {
  /** Resolves once the current batch is finished, or abandoned after the time-out: the next process sends it again. */
  stop(timeoutMs?: number): Promise<void>;
}

/**
 * Forwards the stored events to one destination, in order, until stopped. Each is sent at least once, with the event id
 * by which the receiver can recognize a duplicate. One batch is in flight while the next is read. The cursor moves past
 * events only after the destination accepted them, the filter left them out, or they were set aside as rejected.
 */
export function startForwarding(
  forwarding: Forwarding,
  db: Db,
  logger: Logger,
  observer?: ForwardObserver,
): RunningForwarding {
  const stopping = new AbortController();
  const holder = randomUUID();
  const running = forwardUntil(stopping.signal, forwarding, { db, logger, holder, observer });
  return {
    async stop(timeoutMs = STOP_TIMEOUT_MS) {
      stopping.abort();
      await pTimeout(running, { milliseconds: timeoutMs, message: false });
      await forwarding.sender.close();
      await releaseLease(db, forwarding.name, holder);
    },
  };
}

interface Context {
  readonly db: Db;
  readonly logger: Logger;
  readonly holder: string;
  readonly observer: ForwardObserver | undefined;
}

async function forwardUntil(signal: AbortSignal, forwarding: Forwarding, context: Context): Promise<void> {
  const backoff = createBackoff();
  while (!signal.aborted) {
    try {
      const forwarded = await forwardWhileLeased(signal, forwarding, context, () => backoff.reset());
      if (!forwarded) await pause(POLL_MS, signal);
    } catch (error) {
      const wait = backoff.afterFailure(error);
      context.observer?.failed(forwarding.name);
      await reportFailure(forwarding, error, context, { wait, isDown: backoff.isOpen });
      await pause(wait, signal);
    }
  }
}

async function reportFailure(
  { name }: Forwarding,
  error: unknown,
  { db, logger, holder }: Context,
  { wait, isDown }: { readonly wait: number; readonly isDown: boolean },
): Promise<void> {
  const refused = error instanceof EndpointRefusedError;
  // A failure of the destination is clear from its message; a stack helps with our own mistakes.
  const isTheirs = refused || error instanceof OutageError || error instanceof RetryLaterError;
  const line = { destination: name, ...(isTheirs ? {} : { err: error }) };
  if (refused)
    logger.error(
      line,
      `destination ${name} refuses all events and is stopped: ${describeError(error)}. Fix the cause, then run "xiq-sink destinations resume ${name}"`,
    );
  else {
    const retry = `retrying in ${(wait / 1_000).toFixed(1)} s`;
    logger.warn(
      line,
      `destination ${name} ${isDown ? 'is down' : 'failed'}, ${retry}: ${describeError(error)}`,
    );
  }
  await recordFailure(db, name, holder, describeError(error), refused ? 'refused' : 'running').catch(
    (failure: unknown) => logger.warn({ err: failure }, `can't record the failure of destination ${name}`),
  );
}

/** Forwards until no event is left, the lease is lost or an operator intervenes. False if there is nothing to do now. */
async function forwardWhileLeased(
  signal: AbortSignal,
  forwarding: Forwarding,
  { db, holder, observer }: Context,
  onSuccess: () => void,
): Promise<boolean> {
  const { name } = forwarding;
  const lease = await takeLease(db, name, holder, LEASE_SECONDS);
  if (lease === undefined || lease.state !== 'running') return false;
  const renewal = setInterval(() => {
    // If a renewal fails, the next one makes up for it or the next checkpoint notices.
    if (!signal.aborted) takeLease(db, name, holder, LEASE_SECONDS).catch(() => undefined);
  }, LEASE_RENEWAL_MS);
  try {
    return await forwardFrom(lease, signal, forwarding, { db, holder, observer, onSuccess });
  } finally {
    clearInterval(renewal);
  }
}

async function forwardFrom(
  lease: Lease,
  signal: AbortSignal,
  forwarding: Forwarding,
  { db, holder, observer, onSuccess }: Omit<Context, 'logger'> & { readonly onSuccess: () => void },
): Promise<boolean> {
  const { name, sender, limits } = forwarding;
  const guard = { name, holder, generation: lease.generation };
  const wanted = { messageTypes: messageTypesOf(forwarding.filter) };
  const toBatches = createBatcher(forwarding);
  const stretchEvents = Math.max(STRETCH_EVENTS, limits.events);
  const read = (position: StoredPosition) => readStretch(db, ALL_SOURCES, position, stretchEvents, wanted);

  let next: Promise<Stretch> = read(lease.position);
  while (!signal.aborted) {
    const { events, end } = await next;
    if (end === undefined) {
      onSuccess();
      return false;
    }
    next = read(end);
    // A failure is reported when the promise is awaited and must not end the program before that.
    next.catch(() => undefined);
    for await (const { messages, position } of toBatches(events, end)) {
      const refused = messages.length === 0 ? [] : await sendBisecting(sender, messages);
      const rejected = refused.map(({ message: { event }, reason }) => ({ ...event, reason }));
      const sent = messages.length - rejected.length;
      const mayContinue = await checkpoint(db, guard, position, sent, rejected);
      if (messages.length > 0) observer?.sent(name, sent, rejected.length);
      if (!mayContinue) return true;
      if (sent > 0) onSuccess();
      if (signal.aborted) return true;
    }
  }
  return true;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
