/** Bounds of one group. An item larger than `maxBytes` forms a group of its own. */
export interface GroupBounds {
  readonly maxItems: number;
  readonly maxBytes: number;
}

/** The number of items, in their order, that form the next group: at least one, if there is any. */
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

/** Commits items in groups: while as many commits as may be are in flight, arriving items wait for the next. */
export interface GroupCommit<T, Result> {
  /** Resolves with the result of the commit that included the item; rejects with the error of that commit. */
  add(item: T, bytes: number): Promise<Result>;
  /** Resolves once no item is waiting or in flight. */
  idle(): Promise<void>;
}

interface Waiting<T, Result> {
  readonly item: T;
  readonly bytes: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One durable write commits all items that arrived during the previous one. There is no timer: at low load an item is
 * committed at once, under load the groups grow by themselves. On two cores, one job per delivery stores 2,700
 * deliveries/s with ten concurrent jobs and 800 with one; grouped jobs store 7,400 (`npm run bench`).
 *
 * Up to `atOnce` commits are in flight, more than one only while the items that wait fill a whole group: then the next is
 * prepared while one waits for the disk, and no group gets smaller by that. A later item may then be committed before an
 * earlier one.
 *
 * With `spacingMs`, a commit begins at least so long after the last one began, unless the items that wait fill a whole group:
 * fewer and larger commits cost less, where nobody waits for their end. The first item after a pause still does not wait.
 */
export function createGroupCommit<T, Result>(
  commit: (items: readonly T[]) => Promise<Result>,
  bounds: GroupBounds,
  { atOnce = 1, spacingMs = 0 }: { readonly atOnce?: number; readonly spacingMs?: number } = {},
): GroupCommit<T, Result> {
  let nextAt = 0;
  let endSpacing: () => void = () => undefined;
  let waiting: Waiting<T, Result>[] = [];
  let waitingBytes = 0;
  let inFlight = 0;
  const running = new Set<Promise<void>>();

  function takeGroup(): Waiting<T, Result>[] {
    const count = countOfGroup(waiting, bounds);
    const group = waiting.slice(0, count);
    waiting = waiting.slice(count);
    for (const { bytes } of group) waitingBytes -= bytes;
    return group;
  }

  const fillsGroup = () => waiting.length >= bounds.maxItems || waitingBytes >= bounds.maxBytes;
  const hasWork = () => waiting.length > 0 && (inFlight === 1 || fillsGroup());

  async function untilDue(): Promise<void> {
    const rest = nextAt - performance.now();
    if (rest > 0 && !fillsGroup()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, rest);
      endSpacing = resolve;
      await promise;
      clearTimeout(timer);
    }
    nextAt = performance.now() + spacingMs;
  }

  async function commitGroups(): Promise<void> {
    do {
      // Items that arrive in the same turn of the event loop form one group.
      await new Promise(setImmediate);
      await untilDue();
      const group = takeGroup();
      // Another commit has taken them all meanwhile.
      if (group.length === 0) break;
      try {
        const result = await commit(group.map(({ item }) => item));
        for (const { resolve } of group) resolve(result);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    } while (hasWork());
    inFlight -= 1;
  }

  function start(): void {
    inFlight += 1;
    const one = commitGroups().finally(() => running.delete(one));
    running.add(one);
  }

  return {
    add: (item, bytes) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, bytes, resolve, reject });
        waitingBytes += bytes;
        if (fillsGroup()) endSpacing();
        if (inFlight === 0 || (inFlight < atOnce && fillsGroup())) start();
      }),
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
