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
  /** Counts bytes that were just read or inflated. Throws HttpError 503 if they would exceed the hard limit. */
  add(bytes: number): void;
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
  const share = Math.max(maxBytesInFlight * UNPROVEN_SHARE, maxBodyBytes);
  const unproven = createBudget('deliveries with an unverified signature', share, logger);
  return {
    begin() {
      let budget: Budget | undefined;
      let held = 0;
      const enter = (next: Budget, bytes: number) => {
        next.admit(bytes);
        budget?.giveBack(held);
        budget = next;
        held = bytes;
      };
      return {
        admit: (isProven) => enter(isProven ? proven : unproven, REQUEST_BYTES),
        add(bytes) {
          budget?.take(bytes);
          held += bytes;
        },
        prove: () => enter(proven, held),
        release() {
          budget?.giveBack(held);
          budget = undefined;
        },
      };
    },
  };
}

interface Budget {
  /** Counts the first bytes of a delivery. */
  admit(bytes: number): void;
  /** Counts more bytes of an admitted delivery. */
  take(bytes: number): void;
  giveBack(bytes: number): void;
}

function createBudget(of: string, highMark: number, logger: Logger): Budget {
  const lowMark = highMark * LOW_MARK;
  const hardLimit = 2 * (highMark + REQUEST_BYTES);
  let inFlight = 0;
  let refuses = false;

  const take = (bytes: number) => {
    if (inFlight + bytes > hardLimit) throw overloaded();
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

const overloaded = () =>
  new HttpError(503, OVERLOADED, 'too many deliveries in progress; send it again later', {
    retryAfter: RETRY_AFTER_OVERLOAD,
  });
