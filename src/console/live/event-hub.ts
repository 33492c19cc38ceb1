import { setTimeout as sleep } from 'node:timers/promises';
import { exactTerm, typesOfTerms, type EventTerm } from '../../events/search-query.ts';
import { describeError, HttpError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { readSlice } from '../../store/events/read-events.ts';
import { openLog } from '../../store/log/read-log.ts';
import type { LoggedEvent } from '../../events/stored-event.ts';
import { ALL_SOURCES, isInScope, type Scope } from '../../store/server/scope.ts';

export interface Watcher {
  readonly scope: Scope;
  /** What it may send; the hub reads the types that they allow. */
  readonly terms: readonly EventTerm[];
  /** Receives newly stored events of its scope in order; of the types of all watchers. */
  take(events: readonly LoggedEvent[]): void;
  /** Called with the reason when the database stops answering, and with undefined when it answers again. */
  onTrouble(trouble: string | undefined): void;
}

export type EventHub = ReturnType<typeof createEventHub>;

/**
 * Creates a hub that queries the database every half second while there are watchers, for `batch` events at a time; while
 * there are more, without a pause.
 */
export function createEventHub(db: Db, { intervalMs = 500, maxWatchers = 50, batch = 1_000 } = {}) {
  const log = openLog(db);
  const watchers = new Set<Watcher>();
  let position: number | undefined;
  let handedOut = 0;
  let polling: Promise<boolean> | undefined;
  let trouble: string | undefined;

  async function poll(): Promise<boolean> {
    position ??= (await log.range()).next;
    const types = [...watchers].flatMap(({ terms }) => typesOfTerms(terms));
    const terms = [exactTerm('type', ...new Set(types))];
    const slice = await readSlice(log, ALL_SOURCES, position, batch, { terms });
    position = slice.end ?? position;
    const events = [...slice.events];
    if (events.length > 0) {
      handedOut += 1;
      for (const watcher of watchers) {
        watcher.take(events.filter(({ source }) => isInScope(watcher.scope, source)));
      }
    }
    return slice.isFull;
  }

  async function pollOrReport(): Promise<boolean> {
    try {
      const isMore = await poll();
      report(undefined);
      return isMore;
    } catch (error) {
      report(describeError(error));
      return false;
    }
  }

  function report(now: string | undefined): void {
    if (now === trouble) return;
    trouble = now;
    for (const watcher of watchers) watcher.onTrouble(now);
  }

  async function run(): Promise<void> {
    while (watchers.size > 0) {
      polling = pollOrReport();
      await sleep((await polling) ? 0 : intervalMs);
    }
    polling = undefined;
    position = undefined;
  }

  return {
    /**
     * Resolves when the watcher receives every event stored from now on. Throws HttpError 503 if there are too many
     * watchers.
     */
    async join(watcher: Watcher): Promise<void> {
      if (watchers.size >= maxWatchers) {
        const message = `the limit of ${maxWatchers} live views is reached; close one and try again`;
        throw new HttpError(503, 'TOO_MANY_WATCH', message, { retryAfter: 5 });
      }
      watchers.add(watcher);
      if (polling === undefined) void run();
      // The query in progress may not include its types.
      await polling;
    },
    leave: (watcher: Watcher) => void watchers.delete(watcher),
    /** Every event of the watchers' types before this position was handed out; undefined while there are no watchers. */
    position: () => position,
    handedOut: () => handedOut,
  };
}
