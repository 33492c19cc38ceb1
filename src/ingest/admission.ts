import { hash, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { HttpError } from '../errors.ts';
import type { SourceRates } from './source-rates.ts';

/**
 * The memory of one delivery, counted from its headers until its answer is decided: its body as sent, the inflated
 * body, and the request itself.
 */
export interface InFlight {
  /**
   * Admits the delivery, before a byte of its body is read. Throws HttpError 503 while too much is in flight, and 429 if
   * the source is over its rate. A delivery whose secret is not proven yet counts towards a smaller, separate budget.
   */
  admit(isProven: boolean): void;
  /** Counts bytes that were just read. Throws HttpError 503 if they would exceed the hard limit. */
  add(bytes: number): void;
  /**
   * Reading begins. `cut` is called with an HttpError if the body stalls, or if another source needs the room that it
   * takes. Returns the function to call when reading has ended.
   */
  reading(cut: (error: HttpError) => void): () => void;
  /** Counts a body that was read, of so many bytes as sent, towards the rate of its source. */
  received(bytes: number): void;
  /**
   * Counts bytes that inflating and parsing the body takes. Throws HttpError 503 if they would exceed the hard limit, but
   * never if the delivery is the only one: the limits of a body bound it.
   */
  charge(bytes: number): void;
  /** Moves the delivery to the budget of proven deliveries. Throws as `admit` does. */
  prove(): void;
  /** Releases everything; a second call does nothing. */
  release(): void;
}

/** Decides whether another delivery may be received. */
export interface Admission {
  /** `source` is the name in the URL, which need not exist while the secret is not proven. */
  begin(source: string): InFlight;
}

export interface AdmissionOptions {
  /** Above this many bytes no further delivery is admitted (setting MAX_BYTES_IN_FLIGHT). At least `maxBodyBytes`. */
  readonly maxBytesInFlight: number;
  readonly maxBodyBytes: number;
  readonly rates?: SourceRates | undefined;
  /** A body of which nothing arrives for so long gives up its place. */
  readonly stalledMs?: number;
  readonly logger: Logger;
}

/** Below this share of the high mark deliveries are admitted again: a quarter less, so the two states don't alternate. */
const LOW_MARK = 0.75;

/** The share that deliveries without a proven secret may use; one body of the largest size always fits. */
const UNPROVEN_SHARE = 0.25;

/** A delivery of more bytes as sent is a large one. */
const LARGE_BYTES = 256 * 1024;

/**
 * The share up to which large deliveries are accepted; they may grow to twice of it. The rest is for small ones, which a
 * sender of large bodies therefore does not keep out. One body of the largest size always fits.
 */
const LARGE_SHARE = 0.375;

/** The cost of a request, with its headers and its connection, in addition to its body. */
const REQUEST_BYTES = 8 * 1024;

/** As many as there may be connections. A source may have as many deliveries in flight as are still free for others. */
const MAX_DELIVERIES = 2_048;

const STALLED_MS = 10_000;

/** Strangers can make up names of sources: without a proven secret, names share this many places. */
const UNPROVEN_PLACES = 64;

/** Seconds: within this time the queue has accepted the deliveries in flight, or given up. */
const RETRY_AFTER_OVERLOAD = 5;

/** A delivery in flight, as the budgets see it. */
interface Held {
  /** Who shares the budget: the source. */
  readonly owner: string;
  /** When the last bytes of the body arrived. */
  movedAt: number;
  /** Ends its reading. Undefined while it is not being read. */
  cut: ((error: HttpError) => void) | undefined;
  release(): void;
}

/**
 * Bounds the bytes in flight. Above the mark no further delivery is admitted. Admitted bodies may still grow to twice the
 * mark; beyond that they are cut off. Twice, so that a single body always fits: as sent, and inflated to the same size.
 *
 * The sources share these bounds: they hold for a source that has more than an equal part of what is in flight. Any other
 * is admitted all the same, and where its bytes do not fit, bodies of the source with the most are cut off.
 */
export function createAdmission({
  maxBytesInFlight,
  maxBodyBytes,
  rates,
  stalledMs = STALLED_MS,
  logger,
}: AdmissionOptions): Admission {
  const proven = createBudget('deliveries', maxBytesInFlight, logger);
  const shareOf = (share: number) => Math.max(maxBytesInFlight * share, maxBodyBytes);
  const unproven = createBudget('deliveries with an unverified signature', shareOf(UNPROVEN_SHARE), logger);
  const large = createBudget('large deliveries', shareOf(LARGE_SHARE), logger);
  const placeOf = createPlaces();
  const stalling = watchStalls(stalledMs);
  return {
    begin(source) {
      let budget: Budget | undefined;
      let held = 0;
      let sent = 0;
      let heldAsLarge = 0;
      let delivery: Held;
      const release = () => {
        budget?.leave(delivery, held);
        budget = undefined;
        if (heldAsLarge > 0) large.leave(delivery, heldAsLarge);
        heldAsLarge = 0;
      };
      const enter = (next: Budget, owner: string, bytes: number) => {
        if (next === proven) rates?.admit(source);
        const entering: Held = { owner, movedAt: performance.now(), cut: undefined, release };
        next.enter(entering, bytes);
        budget?.leave(delivery, held);
        delivery = entering;
        budget = next;
        held = bytes;
      };
      const countLarge = () => {
        if (budget !== proven || sent <= LARGE_BYTES) return;
        if (heldAsLarge === 0) large.enter(delivery, sent);
        else large.take(delivery, sent - heldAsLarge);
        heldAsLarge = sent;
      };
      return {
        admit: (isProven) =>
          isProven ? enter(proven, source, REQUEST_BYTES) : enter(unproven, placeOf(source), REQUEST_BYTES),
        add(bytes) {
          delivery.movedAt = performance.now();
          sent += bytes;
          countLarge();
          budget?.take(delivery, bytes);
          held += bytes;
        },
        reading(cut) {
          delivery.cut = cut;
          const stop = stalling(delivery);
          return () => {
            delivery.cut = undefined;
            stop();
          };
        },
        received: (bytes) => rates?.count(source, bytes),
        charge(bytes) {
          budget?.take(delivery, bytes, held);
          held += bytes;
        },
        prove() {
          enter(proven, source, held);
          countLarge();
        },
        release,
      };
    },
  };
}

interface Budget {
  /** Counts the first bytes of a delivery. */
  enter(delivery: Held, bytes: number): void;
  /** Counts more bytes of an admitted delivery. If no other delivery holds bytes than one with `own`, it has no limit. */
  take(delivery: Held, bytes: number, own?: number): void;
  leave(delivery: Held, bytes: number): void;
}

/** What one source holds of a budget. */
interface Part {
  bytes: number;
  readonly deliveries: Set<Held>;
}

function createBudget(of: string, highMark: number, logger: Logger): Budget {
  const lowMark = highMark * LOW_MARK;
  const hardLimit = 2 * (highMark + REQUEST_BYTES);
  const parts = new Map<string, Part>();
  let inFlight = 0;
  let deliveries = 0;
  let refuses = false;

  /** Whether the source would hold more than its equal part of so many bytes. */
  const isOver = (owner: string, more: number, bytes: number) => {
    const part = parts.get(owner);
    return (part?.bytes ?? 0) + more >= bytes / (parts.size + (part === undefined ? 1 : 0));
  };

  const isFull = (more: number) => inFlight + more > hardLimit;

  /** Cuts off bodies of the sources with the most, longest idle first, until there is room for so many bytes of another. */
  function makeRoom(owner: string, bytes: number): void {
    if (isOver(owner, bytes - 1, hardLimit)) throw overloaded();
    let idle: Held | undefined;
    do {
      idle = findIdle(owner);
      idle?.release();
      idle?.cut?.(overloaded());
    } while (idle !== undefined && isFull(bytes));
    // Bodies that are read already cannot be cut off. Those of others may take the mark once more beside them.
    if (inFlight + bytes > hardLimit + highMark) throw overloaded();
  }

  function findIdle(owner: string): Held | undefined {
    const others = [...parts].filter(([name]) => name !== owner && isOver(name, 0, hardLimit));
    for (const [, part] of others.toSorted(([, a], [, b]) => b.bytes - a.bytes)) {
      let idle: Held | undefined;
      for (const delivery of part.deliveries) {
        if (delivery.cut !== undefined && delivery.movedAt < (idle?.movedAt ?? Infinity)) idle = delivery;
      }
      if (idle !== undefined) return idle;
    }
    return undefined;
  }

  function take({ owner }: Held, bytes: number, own?: number): void {
    if (isFull(bytes) && inFlight !== own) makeRoom(owner, bytes);
    inFlight += bytes;
    const part = parts.get(owner);
    if (part !== undefined) part.bytes += bytes;
    if (refuses || inFlight <= highMark) return;
    refuses = true;
    logger.warn({ source: owner, inFlight, highMark, lowMark }, `overloaded: rejecting further ${of}`);
  }

  return {
    enter(delivery, bytes) {
      const { owner } = delivery;
      if (refuses && isOver(owner, 0, lowMark)) throw overloaded();
      const part = parts.get(owner) ?? { bytes: 0, deliveries: new Set() };
      if (part.deliveries.size >= MAX_DELIVERIES - deliveries) throw overloaded();
      parts.set(owner, part);
      part.deliveries.add(delivery);
      deliveries += 1;
      try {
        take(delivery, bytes);
      } catch (error) {
        this.leave(delivery, 0);
        throw error;
      }
    },
    take,
    leave(delivery, bytes) {
      const part = parts.get(delivery.owner);
      if (part === undefined || !part.deliveries.delete(delivery)) return;
      deliveries -= 1;
      part.bytes -= bytes;
      if (part.deliveries.size === 0) parts.delete(delivery.owner);
      inFlight -= bytes;
      if (!refuses || inFlight >= lowMark) return;
      refuses = false;
      logger.info({ inFlight, highMark, lowMark }, `no longer overloaded: accepting ${of} again`);
    },
  };
}

/** The place of a name, which nobody outside can find out. */
function createPlaces(): (name: string) => string {
  const key = randomBytes(16).toString('hex');
  return (name) => String(hash('sha256', key + name, 'buffer').readUInt32BE() % UNPROVEN_PLACES);
}

/** Cuts off bodies that stall. The returned function begins to watch one, and returns the function that ends it. */
function watchStalls(stalledMs: number): (delivery: Held) => () => void {
  const watched = new Set<Held>();
  let timer: NodeJS.Timeout | undefined;
  const check = () => {
    const oldest = performance.now() - stalledMs;
    for (const delivery of watched) if (delivery.movedAt < oldest) delivery.cut?.(stalled(stalledMs));
  };
  return (delivery) => {
    timer ??= setInterval(check, stalledMs / 10).unref();
    watched.add(delivery);
    return () => void watched.delete(delivery);
  };
}

/** The error code of the answer during an overload. An overload is logged when it begins and ends, not per request. */
export const OVERLOADED = 'OVERLOADED';

/** The answer while too much is in progress. */
export const overloaded = () =>
  new HttpError(503, OVERLOADED, 'too many deliveries in progress; send it again later', {
    retryAfter: RETRY_AFTER_OVERLOAD,
  });

const stalled = (ms: number) =>
  new HttpError(408, 'BODY_STALLED', `nothing of the body arrived for ${ms / 1000} s`);
