import { weighDelivery } from './delivery-batch.ts';
import type { QueuedDelivery } from './delivery-batch.ts';

/** How much each source has sent to this process lately, compared with the others. */
export interface SourceLoads {
  /** Counts a delivery of this cost. Returns whether its source has sent more than its share, this one included. */
  add(source: string, cost: number): boolean;
  /** 0 while the source has sent what every source may, then 1 more each time that this has doubled. */
  rankOf(source: string): number;
}

/** What is older counts less: a load of so long ago counts a third. */
const MEMORY_MS = 10_000;

/**
 * No source is over its share with less: 200 deliveries of one record a second, or 2,000 at once, which workers store in
 * less than a quarter of a second.
 */
export const FLOOR = 2 * 1024 * 1024;

/** BullMQ allows more. */
const MAX_RANK = 30;

/** What a row costs beside its content, in characters. */
const ROW_COST = 512;

/** The cost of storing a delivery, in characters: its content and the rows that it may become. */
export function costOf(delivery: QueuedDelivery): number {
  const { records, recordCount, packed } = delivery;
  const rows = packed === undefined ? countObjects(records) : recordCount;
  return weighDelivery(delivery) + ROW_COST * (1 + rows);
}

/** Each observation of a record becomes a row, and is an object. */
function countObjects(text: string): number {
  let count = 0;
  for (let at = text.indexOf('{'); at !== -1; at = text.indexOf('{', at + 1)) count += 1;
  return count;
}

interface Load {
  cost: number;
  at: number;
}

/**
 * `countSources` is the number of sources that share this installation: a single one has no share to exceed. `now` is a
 * clock in milliseconds.
 */
export function createSourceLoads(
  countSources: () => number,
  now: () => number = () => performance.now(),
): SourceLoads {
  const loads = new Map<string, Load>();
  const total: Load = { cost: 0, at: now() };
  const costNow = (load: Load, at: number) => load.cost * Math.exp((load.at - at) / MEMORY_MS);
  const count = (load: Load, cost: number, at: number) => {
    load.cost = costNow(load, at) + cost;
    load.at = at;
    return load.cost;
  };
  return {
    add(source, cost) {
      const at = now();
      const load = loads.get(source) ?? { cost: 0, at };
      loads.set(source, load);
      const own = count(load, cost, at);
      const all = count(total, cost, at);
      const sources = Math.max(loads.size, countSources());
      return sources > 1 && own > FLOOR && own > all / sources;
    },
    rankOf(source) {
      const load = loads.get(source);
      const cost = load === undefined ? 0 : costNow(load, now());
      return cost <= FLOOR ? 0 : Math.min(MAX_RANK, 1 + Math.floor(Math.log2(cost / FLOOR)));
    },
  };
}
