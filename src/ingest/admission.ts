import type { Logger } from 'pino';
import { HttpError } from '../errors.ts';

/**
 * What one delivery keeps in memory, counted from its headers until its answer is decided: its body as sent, the
 * same inflated, and the request itself.
 */
export interface InFlight {
  /**
   * Lets the delivery in, before a byte of its body is read. Throws HttpError 503 while too much is in flight. One
   * whose secret is not proven yet counts towards a smaller budget of its own.
   */
  admit(isProven: boolean): void;
  /** Counts bytes that have just been read or inflated. Throws HttpError 503 when they would go beyond all bounds. */
  add(bytes: number): void;
  /** Moves the delivery to the budget of the proven. Throws HttpError 503 when that has no room. */
  prove(): void;
  /** Gives everything back; a second time does nothing. */
  release(): void;
}

/** Decides whether another delivery may come in. */
export interface Admission {
  begin(): InFlight;
}

export interface AdmissionOptions {
  /** Above this many bytes no further delivery is let in (setting MAX_BYTES_IN_FLIGHT). At least `maxBodyBytes`. */
  readonly maxBytesInFlight: number;
  readonly maxBodyBytes: number;
  readonly logger: Logger;
}

/** Below this share of the high mark deliveries are let in again: a quarter less, so that the two do not alternate. */
const LOW_MARK = 0.75;

/** Nobody who has no secret may hold more than this share, as long as one body of the largest size fits. */
const UNPROVEN_SHARE = 0.25;

/** What a request in hand costs beside its body, with its headers and its connection. */
const REQUEST_BYTES = 8 * 1024;

/** Seconds: within this time the queue takes what is in flight, or gives it up. */
const RETRY_AFTER_OVERLOAD = 5;

/**
 * Bounds the bytes in flight. Bodies on their way may still grow to twice the mark at which no further delivery is let
 * in; beyond that they are broken off. Twice, so that a single body always fits: as sent, and as large again inflated.
 */
export function createAdmission({ maxBytesInFlight, maxBodyBytes, logger }: AdmissionOptions): Admission {
  const proven = createBudget('deliveries', maxBytesInFlight, logger);
  const share = Math.max(maxBytesInFlight * UNPROVEN_SHARE, maxBodyBytes);
  const unproven = createBudget('deliveries whose signature is not checked yet', share, logger);
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
  /** Takes the first bytes of a delivery. */
  admit(bytes: number): void;
  /** Takes more bytes of a delivery that is in already. */
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
    logger.warn({ inFlight, highMark, lowMark }, `overloaded: further ${of} are refused`);
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
      logger.info({ inFlight, highMark, lowMark }, `no longer overloaded: ${of} are taken again`);
    },
  };
}

/** The code by which the answer to an overload is known; it is logged as a change of state, not by request. */
export const OVERLOADED = 'OVERLOADED';

const overloaded = () =>
  new HttpError(503, OVERLOADED, 'too many deliveries are in hand; send it again', {
    retryAfter: RETRY_AFTER_OVERLOAD,
  });
