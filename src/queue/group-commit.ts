/** Bounds of one group. A single item larger than `maxBytes` makes a group alone. */
export interface GroupBounds {
  readonly maxItems: number;
  readonly maxBytes: number;
}

/** How many items, in their order, go into the next group: at least one, if there is any. */
export function countOfGroup(items: Iterable<{ readonly bytes: number }>, bounds: GroupBounds): number {
  let bytes = 0;
  let count = 0;
  for (const { bytes: next } of items) {
    if (count === bounds.maxItems || (count > 0 && bytes + next > bounds.maxBytes)) break;
    bytes += next;
    count += 1;
  }
  return count;
}

/** Items committed together: while one commit is in flight, arriving items gather for the next. */
export interface GroupCommit<T, Result> {
  /** Resolves with what the commit that held the item gave; rejects with the error of that commit. */
  add(item: T, bytes: number): Promise<Result>;
  /** Resolves once nothing is waiting or in flight. */
  idle(): Promise<void>;
}

interface Waiting<T, Result> {
  readonly item: T;
  readonly bytes: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Makes one durable write serve everything that arrived during the last one. There is no timer: at low load
 * an item is committed at once, under load the groups grow by themselves. On two cores a job for each delivery
 * stores 2,700 deliveries/s with ten jobs at a time and 800 with one, grouped jobs 7,400 (`npm run bench`).
 */
export function createGroupCommit<T, Result>(
  commit: (items: readonly T[]) => Promise<Result>,
  bounds: GroupBounds,
): GroupCommit<T, Result> {
  let waiting: Waiting<T, Result>[] = [];
  let running: Promise<void> | undefined;

  function takeGroup(): Waiting<T, Result>[] {
    const count = countOfGroup(waiting, bounds);
    const group = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return group;
  }

  async function commitGroups(): Promise<void> {
    while (waiting.length > 0) {
      // What arrives in the same turn of the event loop goes together.
      await new Promise(setImmediate);
      const group = takeGroup();
      try {
        const result = await commit(group.map(({ item }) => item));
        for (const { resolve } of group) resolve(result);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    running = undefined;
  }

  return {
    add: (item, bytes) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, bytes, resolve, reject });
        running ??= commitGroups();
      }),
    idle: async () => running,
  };
}
