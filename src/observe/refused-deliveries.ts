import type { RefusedDeliveries } from '../store/reconcile/gaps.ts';

/** Counts refused deliveries whose sender has proven a secret, until they are recorded. */
export type RefusedCounter = ReturnType<typeof createRefusedCounter>;

/** Creates a counter. It holds one entry for each source and message type. */
export function createRefusedCounter() {
  let counted = new Map<string, RefusedDeliveries>();

  function count(one: RefusedDeliveries): void {
    const key = `${one.messageType} ${one.source}`;
    const other = counted.get(key) ?? { ...one, deliveries: 0 };
    counted.set(key, {
      ...one,
      first: one.first < other.first ? one.first : other.first,
      last: one.last > other.last ? one.last : other.last,
      deliveries: one.deliveries + other.deliveries,
    });
  }

  return {
    add(source: string, messageType: string): void {
      const now = new Date();
      count({ source, messageType, first: now, last: now, deliveries: 1 });
    },
    /** Passes on what was counted. If `record` rejects, it is counted on. */
    async flush(record: (refused: readonly RefusedDeliveries[]) => Promise<void>): Promise<void> {
      const taken = [...counted.values()];
      if (taken.length === 0) return;
      counted = new Map();
      try {
        await record(taken);
      } catch (error) {
        taken.forEach(count);
        throw error;
      }
    },
  };
}
