import type { NewDelivery } from '../store/deliveries.ts';

/** What one transaction stored: the sums over its deliveries. */
export interface Stored {
  readonly deliveries: number;
  /** For each source and message type. */
  readonly sums: readonly StoredSum[];
}

/** The sums of the deliveries of one source and message type. */
interface StoredSum {
  readonly source: string;
  readonly messageType: string;
  events: number;
  duplicates: number;
  quarantined: number;
}

/** Sums the rows of the deliveries of a transaction. */
export function sumStored(rows: readonly NewDelivery[]): Stored {
  const sums = new Map<string, StoredSum>();
  for (const { source, messageType, eventCount, duplicateCount, quarantinedCount } of rows) {
    const key = `${messageType} ${source}`;
    const sum = sums.get(key) ?? { source, messageType, events: 0, duplicates: 0, quarantined: 0 };
    sums.set(key, sum);
    sum.events += eventCount;
    sum.duplicates += duplicateCount;
    sum.quarantined += quarantinedCount;
  }
  return { deliveries: rows.length, sums: [...sums.values()] };
}
