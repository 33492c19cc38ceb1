import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageType } from '../../domain.ts';
import { describeError, HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { endOfEvents, readStretch } from '../../store/read-events.ts';
import type { StoredEvent, StoredPosition } from '../../store/stored-event.ts';

/** Somebody who watches events come in. */
export interface Watcher {
  /** Undefined or empty: all types. */
  readonly messageTypes: readonly MessageType[] | undefined;
  /** Takes what was stored since the last time, in order; of the types of all watchers. */
  take(events: readonly StoredEvent[]): void;
  /** Told when the database stops answering, with why, and when it answers again, with undefined. */
  onTrouble(trouble: string | undefined): void;
}

/** Reads new events once for all who watch. */
export interface EventHub {
  /**
   * Resolves once events that are stored from now on come to the watcher. Throws HttpError 503 when too many watch.
   */
  join(watcher: Watcher): Promise<void>;
  leave(watcher: Watcher): void;
  /** Everything of the watchers' types up to here was handed out; undefined while nobody watches. */
  position(): StoredPosition | undefined;
  /** How many times anything was handed out. */
  handedOut(): number;
}

interface HubOptions {
  readonly intervalMs?: number;
  readonly maxWatchers?: number;
  /** Read at once; when there is more, it is read without a pause. */
  readonly batch?: number;
}

/** Creates a hub that asks the database every half second while anybody watches, and never otherwise. */
export function createEventHub(
  db: Db,
  { intervalMs = 500, maxWatchers = 50, batch = 1_000 }: HubOptions = {},
): EventHub {
  const watchers = new Set<Watcher>();
  let position: StoredPosition | undefined;
  let handedOut = 0;
  let asking: Promise<boolean> | undefined;
  let trouble: string | undefined;

  /** Resolves with whether there is more. */
  async function ask(): Promise<boolean> {
    position ??= await endOfEvents(db);
    const stretch = await readStretch(db, position, batch, { messageTypes: typesOf(watchers) });
    position = stretch.end ?? position;
    const events = [...stretch.events];
    if (events.length > 0) {
      handedOut += 1;
      for (const watcher of watchers) watcher.take(events);
    }
    return stretch.isFull;
  }

  async function askOrTell(): Promise<boolean> {
    try {
      const isMore = await ask();
      tell(undefined);
      return isMore;
    } catch (error) {
      tell(describeError(error));
      return false;
    }
  }

  function tell(now: string | undefined): void {
    if (now === trouble) return;
    trouble = now;
    for (const watcher of watchers) watcher.onTrouble(now);
  }

  async function run(): Promise<void> {
    while (watchers.size > 0) {
      asking = askOrTell();
      await sleep((await asking) ? 0 : intervalMs);
    }
    asking = undefined;
    position = undefined;
  }

  return {
    async join(watcher) {
      if (watchers.size >= maxWatchers) {
        const message = `${maxWatchers} pages watch already: close one that is not needed, and try again`;
        throw new HttpError(503, 'TOO_MANY_WATCH', message, { retryAfter: 5 });
      }
      watchers.add(watcher);
      if (asking === undefined) void run();
      // What was asked before it came may not be about its types.
      await asking;
    },
    leave: (watcher) => void watchers.delete(watcher),
    position: () => position,
    handedOut: () => handedOut,
  };
}

/** The types that anybody wants; empty when somebody wants all. */
function typesOf(watchers: Iterable<Watcher>): readonly MessageType[] {
  const types = new Set<MessageType>();
  for (const { messageTypes = [] } of watchers) {
    if (messageTypes.length === 0) return [];
    for (const type of messageTypes) types.add(type);
  }
  return [...types];
}
