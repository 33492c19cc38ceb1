import { randomUUID } from 'node:crypto';

import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import { activity } from '../lib/activity.ts';
import { systemClock } from '../lib/clock.ts';
import { describeError } from '../lib/errors.ts';
import { failuresIn } from '../lib/failure-log.ts';
import type { Holder, Lease, Progress } from '../store/destinations/destinations.ts';
import type { DatedSlice } from '../store/events/shared-events.ts';
import { typesOfTerms } from '../events/search-query.ts';
import { createBatcher, type Batching } from './batch-events.ts';
import { LEASE_RENEWAL_MS, type ForwardingSource } from './forwarding-source.ts';
import { acceptsAgain, sendBisecting, MAX_REJECTED_IN_ROW, settleBatch } from './send-batch.ts';
import { EndpointRefusedError, RetryLaterError, type Message, type Sender } from './sender.ts';
import { commandName } from '../lib/text/command-name.ts';

export interface Forwarding extends Batching {
  readonly sender: Sender;
}

/** Counts what happens at destinations. Its functions must not throw. */
export interface ForwardObserver {
  sent(destination: string, events: number): void;
  failed(destination: string): void;
}

/**
 * How many events one query reads, enough for several batches unless the batch limit is larger. A query costs 7 ms and
 * 10 us per event.
 */
const SLICE_EVENTS = 1_000;

/** Half of the time that the whole program has to stop. */
const STOP_TIMEOUT_MS = 5_000;

/**
 * Forwards the stored events to one destination, in order, until stopped. Each is sent at least once, with the event id
 * by which the receiver can recognize a duplicate. One batch is in flight while the next is read. The cursor moves past
 * events only after the destination accepted them, the filter left them out, or they were set aside as rejected.
 */
export function startForwarding(
  forwarding: Forwarding,
  source: ForwardingSource,
  logger: Logger,
  observer?: ForwardObserver,
) {
  const stopping = new AbortController();
  const holder = { name: forwarding.name, holder: randomUUID() };
  const leave = source.events.join();
  const running = forwardUntil(stopping.signal, forwarding, {
    source,
    logger,
    holder,
    observer,
    accepted: {},
  });
  return {
    /** Resolves once the current batch is finished, or abandoned after the time-out: the next process sends it again. */
    async stop(timeoutMs = STOP_TIMEOUT_MS): Promise<void> {
      stopping.abort();
      activity.stir();
      leave();
      await pTimeout(running, { milliseconds: timeoutMs, message: false });
      await forwarding.sender.close();
      await source.release(holder);
    },
  };
}

interface Context {
  readonly source: ForwardingSource;
  readonly logger: Logger;
  readonly holder: Holder;
  readonly observer: ForwardObserver | undefined;
  /** The event that the destination accepted last. */
  readonly accepted: { last?: Message | undefined };
}

async function forwardUntil(signal: AbortSignal, forwarding: Forwarding, context: Context): Promise<void> {
  const backoff = createBackoff();
  const onSuccess = () => {
    backoff.reset();
    failuresIn(context.logger).clear(partOf(forwarding));
  };
  const hasWork = createWorkCheck(forwarding, context.source, onSuccess);
  while (!signal.aborted) {
    try {
      const forwarded =
        (await hasWork()) && (await forwardWhileLeased(signal, forwarding, context, onSuccess));
      if (!forwarded) await context.source.nextLook();
    } catch (error) {
      const wait = backoff.afterFailure(error);
      context.observer?.failed(forwarding.name);
      await reportFailure(forwarding, error, context, wait);
      await systemClock.sleep(wait, signal).catch(() => undefined);
    }
  }
}

/**
 * Creates the check whether there is something to send, as far as can be seen without the lease: looking takes no
 * transaction id. A batch that is not full waits for its time.
 */
function createWorkCheck(
  { name, filter, limits }: Forwarding,
  source: ForwardingSource,
  onNothing: () => void,
) {
  // With a filter, nobody knows yet how many of the waiting events are for this destination.
  const enough = filter.terms.length === 0 && filter.ruleAlerts === undefined ? limits.events : Infinity;
  let waitsSince: number | undefined;
  return async (): Promise<boolean> => {
    const cursor = await source.cursor(name);
    if (cursor === undefined || cursor.state !== 'running') return false;
    const { first, next } = await source.log.range();
    const waiting = next - Math.max(cursor.position, first);
    if (waiting <= 0) {
      waitsSince = undefined;
      onNothing();
      return false;
    }
    activity.stir();
    waitsSince ??= performance.now();
    if (waiting < enough && performance.now() - waitsSince < limits.seconds * 1_000) return false;
    waitsSince = undefined;
    return true;
  };
}

const partOf = ({ name }: Pick<Forwarding, 'name'>) => `destination ${name}`;

async function reportFailure(
  forwarding: Forwarding,
  error: unknown,
  { source, logger, holder }: Context,
  wait: number,
): Promise<void> {
  const { name } = forwarding;
  const fields = { destination: name };
  const failures = failuresIn(logger);
  const refused = error instanceof EndpointRefusedError;
  if (refused)
    logger.error(
      fields,
      `destination ${name} is stopped because it refuses all events: ${describeError(error)}. Fix the cause, then run "${commandName()} destinations resume ${name}"`,
    );
  else {
    const what = `destination ${name} failed, retrying in ${(wait / 1_000).toFixed(1)} s`;
    failures.report(partOf(forwarding), error, what, { fields });
  }
  await source
    .recordFailure(holder, describeError(error), refused ? 'refused' : 'running')
    .catch((failure: unknown) =>
      failures.report(undefined, failure, `can't record the failure of destination ${name}`),
    );
}

/** Forwards until no event is left, the lease is lost or an operator intervenes. False if there is nothing to do now. */
async function forwardWhileLeased(
  signal: AbortSignal,
  forwarding: Forwarding,
  context: Context,
  onSuccess: () => void,
): Promise<boolean> {
  const { source, holder } = context;
  const lease = await source.lease(holder);
  if (lease === undefined || lease.state !== 'running') return false;
  const renewal = setInterval(() => {
    // If a renewal fails, the next one makes up for it or the next checkpoint notices.
    if (!signal.aborted) source.renew(holder).catch(() => undefined);
  }, LEASE_RENEWAL_MS);
  try {
    return await forwardFrom(lease, signal, forwarding, { ...context, onSuccess });
  } finally {
    clearInterval(renewal);
  }
}

async function forwardFrom(
  lease: Lease,
  signal: AbortSignal,
  forwarding: Forwarding,
  { source, logger, holder, observer, accepted, onSuccess }: Context & { readonly onSuccess: () => void },
): Promise<boolean> {
  const { name, sender, limits } = forwarding;
  const { generation } = lease;
  // Alerts of rules may be for a destination whatever its filter is.
  const messageTypes = new Set([...typesOfTerms(forwarding.filter.terms), 'OTHER' as const]);
  const toBatches = createBatcher(forwarding);
  const sliceEvents = Math.max(SLICE_EVENTS, limits.events);
  const read = (position: number) => {
    const slice = source.events.read(position, sliceEvents, messageTypes);
    // A failure is reported when the slice is awaited. One that nobody awaits any more must not end the program.
    slice.catch(() => undefined);
    return slice;
  };

  let { position: start, rejectedInRow } = lease;
  let next: Promise<DatedSlice> = read(start);
  let isFirst = true;
  while (!signal.aborted) {
    const { events, end, isFull, timeline } = await next;
    const isWaiting = !isFirst && !isFull && limits.seconds > 0;
    isFirst = false;
    if (end === undefined || isWaiting) {
      onSuccess();
      return false;
    }
    next = read(end);
    for await (const { messages, position } of toBatches(events, end)) {
      const batch = { start, position, messages };
      const result = await sendBisecting(sender, messages);
      const settled = settleBatch(batch, result, rejectedInRow);
      const { last } = accepted;
      // Ten events of one source must not stop the events of all others.
      const isOpen =
        settled.refusal !== undefined &&
        settled.progress.sent === 0 &&
        last !== undefined &&
        (await acceptsAgain(sender, last));
      const { progress, refusal } = isOpen ? settleBatch(batch, result, rejectedInRow, isOpen) : settled;
      accepted.last = settled.accepted ?? last;
      const { sent, rejected } = progress;
      const saved = await source.save({ ...holder, generation, timeline, start, ...progress });
      if (messages.length > 0) observer?.sent(name, sent);
      if (saved === undefined) return true;
      logRejected(logger, name, rejected);
      // Unless an operator resumed meanwhile, which begins the count anew.
      if (refusal !== undefined && sent === 0 && saved.rejectedInRow === rejectedInRow) {
        throw new EndpointRefusedError(
          `it has rejected at least ${MAX_REJECTED_IN_ROW} events in a row, the last one because: ${refusal}`,
        );
      }
      if (sent > 0) onSuccess();
      // Those that were rejected last are sent again with those that follow: if one of them is accepted, the destination
      // does not reject every event. Of a batch with too many rejected events, the rest is sent as another one.
      if (progress.position !== position || saved.state !== 'running' || signal.aborted) return true;
      ({ position: start } = progress);
      ({ rejectedInRow } = saved);
    }
  }
  return true;
}

/** Each event once, when it is set aside. */
function logRejected(logger: Logger, destination: string, rejected: Progress['rejected']): void {
  for (const { eventId, messageType, reason } of rejected) {
    const line = { destination, event_id: eventId, message_type: messageType };
    logger.warn(line, `destination ${destination} rejected an event, which was set aside: ${reason}`);
  }
}

const BASE_MS = 1_000;
const MAX_MS = 5 * 60_000;

/**
 * The waits between attempts at a failing destination. Full jitter: each is a random time up to a bound that doubles from
 * 1 s to 5 min, so that attempts that failed together are not repeated together. A wait that the destination requests
 * is respected, from 1 s (a requested time may be past) up to the same 5 min.
 */
function createBackoff() {
  let failures = 0;
  return {
    /** How long to wait after one more failure, in milliseconds. */
    afterFailure(error: unknown): number {
      failures += 1;
      if (error instanceof RetryLaterError) return Math.min(Math.max(error.afterMs, BASE_MS), MAX_MS);
      return Math.random() * Math.min(BASE_MS * 2 ** (failures - 1), MAX_MS);
    },
    /** After a success: the next failure counts as the first. */
    reset(): void {
      failures = 0;
    },
  };
}
