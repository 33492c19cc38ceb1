import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError, OutageError } from '../errors.ts';
import type { Db } from '../store/database.ts';
import { checkpoint, recordFailure, releaseLease, takeLease } from '../store/destinations.ts';
import type { Lease } from '../store/destinations.ts';
import { readStretch } from '../store/read-events.ts';
import type { Stretch } from '../store/read-events.ts';
import type { StoredPosition } from '../store/stored-event.ts';
import { createBackoff } from './backoff.ts';
import { giveWay } from './give-way.ts';
import { createFilter, messageTypesOf } from './filter.ts';
import type { EventFilter } from './filter.ts';
import { sendBisecting } from './send-bisecting.ts';
import { EndpointRefusedError, RetryLaterError } from './sender.ts';
import type { Message, Sender } from './sender.ts';
import type { Format } from './stored-event.ts';

/** A destination, ready to be sent to. */
export interface Forwarding {
  readonly name: string;
  readonly sender: Sender;
  /** Redacts and writes an event in the destination's language. */
  readonly format: Format;
  readonly filter: EventFilter;
  readonly limits: BatchLimits;
}

/** Is told how sending to a destination goes, to count it. It must not throw. */
export interface ForwardObserver {
  /** The destination has taken so many events, and refused so many for what they say. */
  sent(destination: string, events: number, rejected: number): void;
  /** An attempt has failed and comes again. */
  failed(destination: string): void;
}

/** What one batch holds at most. */
export interface BatchLimits {
  readonly events: number;
  /** Of the messages' text. */
  readonly bytes: number;
}

export const DEFAULT_LIMITS: BatchLimits = { events: 500, bytes: 900_000 };

/**
 * Events read at once, for several batches, unless a batch holds more: a stretch costs 7 ms before its first event
 * and 10 us for each.
 */
const STRETCH_EVENTS = 1_000;

/** Events are written at most so many at a stretch, which takes about half a millisecond. */
const EVENTS_AT_A_STRETCH = 25;

/** A process that dies gives its destinations to another within this time. */
const LEASE_SECONDS = 30;
const LEASE_RENEWAL_MS = 10_000;

/** Half of the time that the whole program has to stop. */
const GIVE_UP_MS = 5_000;

/** How soon a new event is looked for, and a lease that another process has. */
const POLL_MS = 500;

/** Forwarding under way. */
interface RunningForwarding {
  /** Resolves once the batch in hand is finished, or given up after so long: then it is sent again by the next. */
  stop(giveUpMs?: number): Promise<void>;
}

/**
 * Forwards the stored events to one destination, in their order, until stopped: at least once, each with the event
 * id that lets the receiver recognise a second time. One batch is in flight; the next is read meanwhile. The cursor
 * moves only behind what the destination has taken, what the filter leaves out and what was set aside.
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
    async stop(giveUpMs = GIVE_UP_MS) {
      stopping.abort();
      const inTime = new AbortController();
      await Promise.race([running, pause(giveUpMs, inTime.signal)]);
      inTime.abort();
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
  // What a destination does is told by its message; the stack is for our own mistakes.
  const isTheirs = refused || error instanceof OutageError || error instanceof RetryLaterError;
  const line = { destination: name, ...(isTheirs ? {} : { err: error }) };
  if (refused) logger.error(line, `destination ${name} refuses us and is paused: ${describeError(error)}`);
  else {
    const again = `again in ${(wait / 1_000).toFixed(1)} s`;
    logger.warn(
      line,
      `destination ${name} ${isDown ? 'is down' : 'failed'}, ${again}: ${describeError(error)}`,
    );
  }
  await recordFailure(db, name, holder, describeError(error), refused ? 'refused' : 'running').catch(
    (failure: unknown) => logger.warn({ err: failure }, 'the failure could not be written down'),
  );
}

/** Forwards until there is nothing more, the lease is lost or a person intervenes. False when it may not run at all. */
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
    // A renewal that fails is made good by the next, or shows at the next checkpoint.
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
  const read = (position: StoredPosition) => readStretch(db, position, stretchEvents, wanted);

  let next: Promise<Stretch> = read(lease.position);
  while (!signal.aborted) {
    const { events, end } = await next;
    if (end === undefined) {
      onSuccess();
      return false;
    }
    next = read(end);
    // A failure shows when it is awaited, and must not end the program before.
    next.catch(() => undefined);
    for await (const { messages, position } of toBatches(events, end)) {
      const refused = messages.length === 0 ? [] : await sendBisecting(sender, messages);
      const rejected = refused.map(({ message: { event }, reason }) => ({ ...event, reason }));
      const sent = messages.length - rejected.length;
      const goesOn = await checkpoint(db, guard, position, sent, rejected);
      if (messages.length > 0) observer?.sent(name, sent, rejected.length);
      if (!goesOn) return true;
      if (sent > 0) onSuccess();
      if (signal.aborted) return true;
    }
  }
  return true;
}

interface Batch {
  readonly messages: readonly Message[];
  /** Where the cursor stands once they are sent. */
  readonly position: StoredPosition;
}

/** Makes what turns a stretch of events into batches of bounded size; the last one ends where the stretch does. */
function createBatcher({ filter, format, limits }: Forwarding) {
  const passes = createFilter(filter);
  return async function* toBatches(events: Stretch['events'], end: StoredPosition): AsyncGenerator<Batch> {
    let messages: Message[] = [];
    let bytes = 0;
    let made = 0;
    for (const event of events) {
      made += 1;
      if (made % EVENTS_AT_A_STRETCH === 0) await giveWay();
      if (!passes(event)) continue;
      const text = format(event);
      const size = Buffer.byteLength(text);
      const previous = messages.at(-1);
      const isFull = messages.length >= limits.events || bytes + size > limits.bytes;
      if (previous !== undefined && isFull) {
        yield { messages, position: previous.event };
        messages = [];
        bytes = 0;
      }
      messages.push({ event, text });
      bytes += size;
    }
    yield { messages, position: end };
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
