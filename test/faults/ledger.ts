import type { Payload } from './payloads.ts';

/** A delivery that was answered as kept: it has to be found. */
export interface Obligation {
  readonly deliveryId: string;
  readonly payload: Payload;
}

/** What the answers of a load said. Every delivery sent is in one of the other counts. */
export interface Ledger {
  readonly obligations: Obligation[];
  sent: number;
  /** Answered with 2xx. */
  acknowledged: number;
  /** Answered with 400 and kept in quarantine. */
  quarantined: number;
  /** Answered otherwise, by status. */
  readonly refused: Record<string, number>;
  /** Without an answer: the connection failed, or none came in time. */
  unanswered: number;
}

export const openLedger = (): Ledger => ({
  obligations: [],
  sent: 0,
  acknowledged: 0,
  quarantined: 0,
  refused: {},
  unanswered: 0,
});

const RECEIPT = /"delivery_id":"([0-9a-f-]{36})"/;

const KEPT = /kept in quarantine as delivery ([0-9a-f-]{36})/;

/** Enters the answer to a payload. Gives whether it was a 2xx; one without a delivery id can never be found. */
export function enterAnswer(ledger: Ledger, payload: Payload, status: number, text: string): boolean {
  if (status >= 200 && status <= 299) {
    ledger.acknowledged += 1;
    ledger.obligations.push({ deliveryId: RECEIPT.exec(text)?.[1] ?? '', payload });
    return true;
  }
  const kept = status === 400 ? KEPT.exec(text)?.[1] : undefined;
  if (kept === undefined) {
    ledger.refused[status] = (ledger.refused[status] ?? 0) + 1;
  } else {
    ledger.quarantined += 1;
    ledger.obligations.push({ deliveryId: kept, payload });
  }
  return false;
}

/** Refusals of all statuses. */
export const countRefused = ({ refused }: Pick<Ledger, 'refused'>): number =>
  Object.values(refused).reduce((sum, count) => sum + count, 0);
