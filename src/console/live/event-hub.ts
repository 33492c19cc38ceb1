import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageType } from '../../domain.ts';
import { describeError, HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { readStretch } from '../../store/read-events.ts';
import { openLog } from '../../store/read-log.ts';
import type { LoggedEvent } from '../../store/stored-event.ts';
import { ALL_SOURCES, isInScope, type Scope } from '../../store/scope.ts';

/** A client that watches new events. */
export interface Watcher {
  /** The sources whose events it receives. */
  readonly scope: Scope;
  /** Undefined or empty: all types. */
  readonly messageTypes: readonly MessageType[] | undefined;
  /** Receives newly stored events of its scope in order; of the types of all watchers. */
  take(events: readonly LoggedEvent[]): void;
  /** Called with the reason when the database stops answering, and with undefined when it answers again. */
  onTrouble(trouble: string | undefined): void;
}

/** Reads new events once for all watchers. */
export interface EventHub {
  /**
   * Resolves when the watcher receives every event stored from now on. Throws HttpError 503 if there are too many
   * watchers.
   */
  join(watcher: Watcher): Promise<void>;
  leave(watcher: Watcher): void;
  /** Every event of the watchers' types before this position was handed out; undefined while there are no watchers. */
  position(): number | undefined;
  /** The number of batches handed out. */
  handedOut(): number;
}

interface HubOptions {
  readonly intervalMs?: number;
  readonly maxWatchers?: number;
  /** Events per query; while there are more, they are read without a pause. */
  readonly batch?: number;
}

/** Creates a hub that queries the database every half second while there are watchers. */
export function createEventHub(
  db: Db,
  { intervalMs = 500, maxWatchers = 50, batch = 1_000 }: HubOptions = {},
): EventHub {
  const log = openLog(db);
  const watchers = new Set<Watcher>();
  let position: number | undefined;
  let handedOut = 0;
  let polling: Promise<boolean> | undefined;
  let trouble: string | undefined;

  /** Resolves with whether there are more events. */
  async function poll(): Promise<boolean> {
    position ??= (await log.range()).next;
    const stretch = await readStretch(log, ALL_SOURCES, position, batch, { messageTypes: typesOf(watchers) });
    position = stretch.end ?? position;
    const events = [...stretch.events];
    if (events.length > 0) {
      handedOut += 1;
      for (const watcher of watchers) {
        watcher.take(events.filter(({ source }) => isInScope(watcher.scope, source)));
      }
    }
    return stretch.isFull;
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
    async join(watcher) {
      if (watchers.size >= maxWatchers) {
        const message = `the limit of ${maxWatchers} live views is reached; close one and try again`;
        throw new HttpError(503, 'TOO_MANY_WATCH', message, { retryAfter: 5 });
      }
      watchers.add(watcher);
      if (polling === undefined) void run();
      // The query in progress may not include its types.
      await polling;
    },
    leave: (watcher) => void watchers.delete(watcher),
    position: () => position,
    handedOut: () => handedOut,
  };
}

/** The types of all watchers; empty if one of them wants all types. */
function typesOf(watchers: Iterable<Watcher>): readonly MessageType[] {
  const types = new Set<MessageType>();
  for (const { messageTypes = [] } of watchers) {
    if (messageTypes.length === 0) return [];
    for (const type of messageTypes) types.add(type);
  }
  return [...types];
}
