import type { Found } from './found.ts';
import type { Obligation } from './ledger.ts';

/** What became of the obligations. */
export interface Judgement {
  /** Obligations that were met: the delivery is stored, and each of its events, or its bytes in quarantine. */
  readonly found: number;
  readonly lost: number;
  /** Events that have more than one row, and bodies that are in quarantine more than once. */
  readonly doubled: number;
  readonly addsUp: boolean;
}

/** Holds what was promised against what is there. A receipt takes its delivery: a second with the same id finds none. */
export function judge(obligations: readonly Obligation[], found: Found): Judgement {
  const unclaimed = new Map(found.deliveries);
  let met = 0;
  for (const obligation of obligations) {
    const isStored = unclaimed.get(obligation.deliveryId) === obligation.payload.numbers.length;
    unclaimed.delete(obligation.deliveryId);
    if (isStored && hasContent(obligation, found)) met += 1;
  }
  const doubled = [...found.rows.values()].filter((times) => times > 1).length;
  const keptTwice = [...found.quarantine.values()].filter((parts) => parts.length > 1).length;
  return {
    found: met,
    lost: obligations.length - met,
    doubled: doubled + keptTwice,
    addsUp: found.addsUp,
  };
}

function hasContent({ deliveryId, payload }: Obligation, { rows, quarantine }: Found): boolean {
  return payload.isReadable
    ? payload.numbers.every((number) => rows.has(number))
    : (quarantine.get(deliveryId) ?? []).includes(payload.body);
}
