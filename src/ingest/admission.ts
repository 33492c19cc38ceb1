import { hash, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { HttpError } from '../lib/errors.ts';
import type { SourceRates } from './source-rates.ts';

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

/**
 * Decides whether another delivery may be received: bounds the bytes in flight. Above the mark no further delivery is
 * admitted. Admitted bodies may still grow to twice the mark; beyond that they are cut off. Twice, so that a single body
 * always fits: as sent, and inflated to the same size.
 *
 * The sources share these bounds: they hold for a source that has more than an equal part of what is in flight. Any other
 * is admitted all the same, and where its bytes do not fit, bodies of the source with the most are cut off.
 */
export class Admission {
  readonly proven: Budget;
  readonly unproven: Budget;
  readonly large: Budget;
  readonly rates: SourceRates | undefined;
  readonly stalls: ReturnType<typeof createStallWatch>;
  readonly #placeKey = randomBytes(16).toString('hex');

  constructor({ maxBytesInFlight, maxBodyBytes, rates, stalledMs = STALLED_MS, logger }: AdmissionOptions) {
    const shareOf = (share: number) => Math.max(maxBytesInFlight * share, maxBodyBytes);
    this.proven = createBudget('deliveries', maxBytesInFlight, logger);
    this.unproven = createBudget('deliveries with an unverified signature', shareOf(UNPROVEN_SHARE), logger);
    this.large = createBudget('large deliveries', shareOf(LARGE_SHARE), logger);
    this.rates = rates;
    this.stalls = createStallWatch(stalledMs);
  }

  /** `source` is the name in the URL, which need not exist while the secret is not proven. */
  begin(source: string): MemoryReservation {
    return new MemoryReservation(this, source);
  }

  /** The place that a name shares with others, which nobody outside can find out. */
  placeOf(name: string): string {
    return String(hash('sha256', this.#placeKey + name, 'buffer').readUInt32BE() % UNPROVEN_PLACES);
  }
}

/**
 * The memory of one delivery, counted from its headers until its answer is decided: its body as sent, the inflated
 * body, and the request itself.
 */
export class MemoryReservation {
  readonly #admission: Admission;
  readonly #source: string;
  #budget: Budget | undefined;
  #bytes = 0;
  #sent = 0;
  #largeBytes = 0;
  #cut: ((error: HttpError) => void) | undefined;
  /** Who shares the budget: the source, or the place of its name. */
  owner = '';
  /** When the last bytes of the body arrived. */
  movedAt = 0;

  constructor(admission: Admission, source: string) {
    this.#admission = admission;
    this.#source = source;
  }

  /** Whether the body is being read, and can be cut off. */
  get isReading(): boolean {
    return this.#cut !== undefined;
  }

  /**
   * Admits the delivery, before a byte of its body is read. Throws HttpError 503 while too much is in flight, and 429 if
   * the source is over its rate. A delivery whose secret is not proven yet counts towards a smaller, separate budget.
   */
  admit(isProven: boolean): void {
    const { proven, unproven } = this.#admission;
    if (isProven) this.#enter(proven, this.#source, REQUEST_BYTES);
    else this.#enter(unproven, this.#admission.placeOf(this.#source), REQUEST_BYTES);
  }

  /** Counts bytes that were just read. Throws HttpError 503 if they would exceed the hard limit. */
  add(bytes: number): void {
    this.movedAt = performance.now();
    this.#sent += bytes;
    this.#countLarge();
    this.#budget?.take(this.owner, bytes);
    this.#bytes += bytes;
  }

  /**
   * Reading begins. `cut` is called with an HttpError if the body stalls, or if another source needs the room that it
   * takes, until `endReading`.
   */
  beginReading(cut: (error: HttpError) => void): void {
    this.#cut = cut;
    this.#admission.stalls.add(this);
  }

  endReading(): void {
    this.#cut = undefined;
    this.#admission.stalls.delete(this);
  }

  cutOff(error: HttpError): void {
    this.#cut?.(error);
  }

  /** Counts a body that was read (this many bytes as sent) towards the rate of its source. */
  received(bytes: number): void {
    this.#admission.rates?.count(this.#source, bytes);
  }

  /**
   * Counts bytes that inflating and parsing the body takes. Throws HttpError 503 if they would exceed the hard limit, but
   * never if the delivery is the only one: the limits of a body bound it.
   */
  charge(bytes: number): void {
    this.#budget?.take(this.owner, bytes, this.#bytes);
    this.#bytes += bytes;
  }

  /** Moves the delivery to the budget of proven deliveries. Throws as `admit` does. */
  prove(): void {
    this.#enter(this.#admission.proven, this.#source, this.#bytes);
    this.#countLarge();
  }

  /** Releases everything; a second call does nothing. */
  release(): void {
    this.#budget?.leave(this, this.owner, this.#bytes);
    this.#budget = undefined;
    if (this.#largeBytes > 0) this.#admission.large.leave(this, this.owner, this.#largeBytes);
    this.#largeBytes = 0;
  }

  #enter(next: Budget, owner: string, bytes: number): void {
    if (next === this.#admission.proven) this.#admission.rates?.admit(this.#source);
    this.movedAt = performance.now();
    next.enter(this, owner, bytes);
    this.#budget?.leave(this, this.owner, this.#bytes);
    this.#budget = next;
    this.owner = owner;
    this.#bytes = bytes;
  }

  #countLarge(): void {
    const { proven, large } = this.#admission;
    if (this.#budget !== proven || this.#sent <= LARGE_BYTES) return;
    if (this.#largeBytes === 0) large.enter(this, this.owner, this.#sent);
    else large.take(this.owner, this.#sent - this.#largeBytes);
    this.#largeBytes = this.#sent;
  }
}

type Budget = ReturnType<typeof createBudget>;

/** Bytes that deliveries may hold together, by who shares them. `of` names the deliveries in the log. */
function createBudget(of: string, highMark: number, logger: Logger) {
  const lowMark = highMark * LOW_MARK;
  const hardLimit = 2 * (highMark + REQUEST_BYTES);
  const parts = new Map<string, { bytes: number; readonly deliveries: Set<MemoryReservation> }>();
  let inFlight = 0;
  let count = 0;
  let refuses = false;
  const isFull = (more: number) => inFlight + more > hardLimit;
  const marks = () => ({ inFlight, highMark, lowMark });

  /** Whether the source would hold its equal part of this many bytes, or more. */
  function isOver(owner: string, more: number, bytes: number): boolean {
    const part = parts.get(owner);
    return (part?.bytes ?? 0) + more >= bytes / (parts.size + (part === undefined ? 1 : 0));
  }

  /** Cuts off bodies of the sources with the most, longest idle first, until there is room for this many bytes of another. */
  function makeRoom(owner: string, bytes: number): void {
    if (isOver(owner, bytes, hardLimit)) throw overloaded();
    let idle: MemoryReservation | undefined;
    do {
      idle = findIdle(owner);
      idle?.release();
      idle?.cutOff(overloaded());
    } while (idle !== undefined && isFull(bytes));
    // Bodies that are read already cannot be cut off. Those of others may take the mark once more beside them.
    if (inFlight + bytes > hardLimit + highMark) throw overloaded();
  }

  function findIdle(owner: string): MemoryReservation | undefined {
    const others = [...parts].filter(([name]) => name !== owner && isOver(name, 0, hardLimit));
    for (const [, part] of others.toSorted(([, a], [, b]) => b.bytes - a.bytes)) {
      let idle: MemoryReservation | undefined;
      for (const delivery of part.deliveries) {
        if (delivery.isReading && delivery.movedAt < (idle?.movedAt ?? Infinity)) idle = delivery;
      }
      if (idle !== undefined) return idle;
    }
    return undefined;
  }

  /** Counts more bytes of an admitted delivery. If no other delivery holds bytes than one with `own`, it has no limit. */
  function take(owner: string, bytes: number, own?: number): void {
    if (isFull(bytes) && inFlight !== own) makeRoom(owner, bytes);
    inFlight += bytes;
    const part = parts.get(owner);
    if (part !== undefined) part.bytes += bytes;
    if (refuses || inFlight <= highMark) return;
    refuses = true;
    logger.warn({ source: owner, ...marks() }, `overloaded: rejecting further ${of}`);
  }

  function leave(delivery: MemoryReservation, owner: string, bytes: number): void {
    const part = parts.get(owner);
    if (part === undefined || !part.deliveries.delete(delivery)) return;
    count -= 1;
    part.bytes -= bytes;
    if (part.deliveries.size === 0) parts.delete(owner);
    inFlight -= bytes;
    if (!refuses || inFlight >= lowMark) return;
    refuses = false;
    logger.info(marks(), `no longer overloaded: accepting ${of} again`);
  }

  function enter(delivery: MemoryReservation, owner: string, bytes: number): void {
    if (refuses && isOver(owner, 0, lowMark)) throw overloaded();
    const part = parts.get(owner) ?? { bytes: 0, deliveries: new Set() };
    if (part.deliveries.size >= MAX_DELIVERIES - count) throw overloaded();
    parts.set(owner, part);
    part.deliveries.add(delivery);
    count += 1;
    try {
      take(owner, bytes);
    } catch (error) {
      leave(delivery, owner, 0);
      throw error;
    }
  }

  return { enter, take, leave };
}

/** Cuts off the deliveries of which nothing arrives for so long while they are read. */
function createStallWatch(stalledMs: number) {
  const reading = new Set<MemoryReservation>();
  let timer: NodeJS.Timeout | undefined;
  const check = () => {
    const oldest = performance.now() - stalledMs;
    for (const delivery of reading) {
      if (delivery.movedAt < oldest) delivery.cutOff(stalled(stalledMs));
    }
  };
  return {
    add(delivery: MemoryReservation): void {
      timer ??= setInterval(check, stalledMs / 10).unref();
      reading.add(delivery);
    },
    delete: (delivery: MemoryReservation) => reading.delete(delivery),
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
  new HttpError(408, 'BODY_STALLED', `no part of the body arrived for ${ms / 1000} s`);
