import type { Logger } from 'pino';
import { HttpError } from '../errors.ts';

/**
 * The memory of one delivery, counted from its headers until its answer is decided: its body as sent, the inflated
 * body, and the request itself.
 */
export interface InFlight {
  /**
   * Admits the delivery, before a byte of its body is read. Throws HttpError 503 while too much is in flight. A
   * delivery whose secret is not proven yet counts towards a smaller, separate budget.
   */
  admit(isProven: boolean): void;
  /** Counts bytes that were just read. Throws HttpError 503 if they would exceed the hard limit. */
  add(bytes: number): void;
  /**
   * Counts bytes that inflating and parsing the body takes. Throws HttpError 503 if they would exceed the hard limit, but
   * never if the delivery is the only one: the limits of a body bound it.
   */
  charge(bytes: number): void;
  /** Moves the delivery to the budget of proven deliveries. Throws HttpError 503 if that is exhausted. */
  prove(): void;
  /** Releases everything; a second call does nothing. */
  release(): void;
}

/** Decides whether another delivery may be received. */
export interface Admission {
  begin(): InFlight;
}

export interface AdmissionOptions {
  /** Above this many bytes no further delivery is admitted (setting MAX_BYTES_IN_FLIGHT). At least `maxBodyBytes`. */
  readonly maxBytesInFlight: number;
  readonly maxBodyBytes: number;
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

/** Seconds: within this time the queue has accepted the deliveries in flight, or given up. */
const RETRY_AFTER_OVERLOAD = 5;

/**
 * Bounds the bytes in flight. Above the mark no further delivery is admitted. Admitted bodies may still grow to twice the
 * mark; beyond that they are cut off. Twice, so that a single body always fits: as sent, and inflated to the same size.
 */
export function createAdmission({ maxBytesInFlight, maxBodyBytes, logger }: AdmissionOptions): Admission {
  const proven = createBudget('deliveries', maxBytesInFlight, logger);
  const shareOf = (share: number) => Math.max(maxBytesInFlight * share, maxBodyBytes);
  const unproven = createBudget('deliveries with an unverified signature', shareOf(UNPROVEN_SHARE), logger);
  const large = createBudget('large deliveries', shareOf(LARGE_SHARE), logger);
  return {
    begin() {
      let budget: Budget | undefined;
      let held = 0;
      let sent = 0;
      let heldAsLarge = 0;
      const enter = (next: Budget, bytes: number) => {
        next.admit(bytes);
        budget?.giveBack(held);
        budget = next;
        held = bytes;
      };
      const countLarge = () => {
        if (budget !== proven || sent <= LARGE_BYTES) return;
        if (heldAsLarge === 0) large.admit(sent);
        else large.take(sent - heldAsLarge);
        heldAsLarge = sent;
      };
      return {
        admit: (isProven) => enter(isProven ? proven : unproven, REQUEST_BYTES),
        add(bytes) {
          sent += bytes;
          countLarge();
          budget?.take(bytes);
          held += bytes;
        },
        charge(bytes) {
          budget?.take(bytes, held);
          held += bytes;
        },
        prove() {
          enter(proven, held);
          countLarge();
        },
        release() {
          budget?.giveBack(held);
          budget = undefined;
          large.giveBack(heldAsLarge);
          heldAsLarge = 0;
        },
      };
    },
  };
}

interface Budget {
  /** Counts the first bytes of a delivery. */
  admit(bytes: number): void;
  /** Counts more bytes of an admitted delivery. If no other delivery holds bytes than one with `own`, it has no limit. */
  take(bytes: number, own?: number): void;
  giveBack(bytes: number): void;
}

function createBudget(of: string, highMark: number, logger: Logger): Budget {
  const lowMark = highMark * LOW_MARK;
  const hardLimit = 2 * (highMark + REQUEST_BYTES);
  let inFlight = 0;
  let refuses = false;

  const take = (bytes: number, own?: number) => {
    if (inFlight + bytes > hardLimit && inFlight !== own) throw overloaded();
    inFlight += bytes;
    if (refuses || inFlight <= highMark) return;
    refuses = true;
    logger.warn({ inFlight, highMark, lowMark }, `overloaded: rejecting further ${of}`);
  };
  return {
    admit(bytes) {
      if (refuses) throw overloaded();
      take(bytes);
    },
    take,
    giveBack(bytes) {
      inFlight -= bytes;
      if (!refuses || inFlight >= lowMark) return;
      refuses = false;
      logger.info({ inFlight, highMark, lowMark }, `no longer overloaded: accepting ${of} again`);
    },
  };
}

/** The error code of the answer during an overload. An overload is logged when it begins and ends, not per request. */
export const OVERLOADED = 'OVERLOADED';

/** The answer while too much is in progress. */
export const overloaded = () =>
  new HttpError(503, OVERLOADED, 'too many deliveries in progress; send it again later', {
    retryAfter: RETRY_AFTER_OVERLOAD,
  });
