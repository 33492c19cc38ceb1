import { once } from 'node:events';
import type { Response } from 'express';
import { withinTime } from '../../store/database.ts';
import type { Db } from '../../store/database.ts';
import { endOfEvents, readStretch } from '../../store/read-events.ts';
import { byPosition } from '../../store/stored-event.ts';
import type { StoredEvent, StoredPosition } from '../../store/stored-event.ts';
import type { EventHub, Watcher } from './event-hub.ts';
import { toLiveEvent } from './live-event.ts';
import { matches } from './matches.ts';
import type { WatchFilter } from './matches.ts';

/** What one stream works with. */
export interface FollowOptions {
  readonly db: Db;
  readonly hub: EventHub;
  readonly filter: WatchFilter;
  /** Where an earlier stream ended; undefined: what is stored from now on. */
  readonly after: StoredPosition | undefined;
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/** A proxy that hears nothing for a minute lets go. */
const HEARTBEAT_MS = 15_000;

/** Bytes that may wait for a reader that takes no more. A screenful is a hundredth of it. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Stored events read at once, whether they match or not. */
const STRETCH = 2_000;

/** Of what came while nobody read, so much is sent; the rest is in the search. */
const MAX_CATCH_UP = 10_000;

/** Reading takes no longer, one statement or all of them together. */
const CATCH_UP_TIMEOUT_MS = 5_000;

/**
 * Writes server-sent events (HTML Standard, section 9.2) until the signal fires or the reader goes: `listening` first,
 * `stored` for each event that matches, `gap` where too many came while nobody read, `trouble` when the database
 * stops answering, or answers again. Each carries its position, with which the next stream goes on.
 */
export async function followEvents(options: FollowOptions, response: Response): Promise<void> {
  const { db, hub, filter, signal } = options;
  let place = options.after;
  let isCaughtUp = false;

  const watcher: Watcher = {
    messageTypes: filter.messageTypes,
    take(events) {
      if (isCaughtUp) send(events.filter((event) => matches(event, filter)));
      // Who takes nothing is dropped, and goes on from where he was when he comes again.
      if (response.writableLength > MAX_WAITING_BYTES) response.destroy();
    },
    onTrouble(trouble) {
      if (response.headersSent) response.write(messageOf('trouble', { message: trouble ?? null }));
    },
  };

  function send(events: readonly StoredEvent[]): void {
    for (const event of events) {
      // The hub may be behind what was read here.
      if (place !== undefined && byPosition(event, place) <= 0) continue;
      place = event;
      response.write(messageOf('stored', toLiveEvent(event), place));
    }
  }

  /** Sends what was stored since `place`, until nothing is left that the hub has handed out meanwhile. */
  async function catchUp(from: StoredPosition): Promise<void> {
    place = from;
    let sent = 0;
    let readMs = 0;
    while (!isCaughtUp && !signal.aborted) {
      const handedOut = hub.handedOut();
      const began = performance.now();
      const found = await withinTime(db, CATCH_UP_TIMEOUT_MS, (trx) =>
        readStretch(trx, place ?? from, STRETCH, filter),
      );
      readMs += performance.now() - began;
      if (found === undefined || sent >= MAX_CATCH_UP || readMs > CATCH_UP_TIMEOUT_MS) {
        place = await endOfEvents(db);
        sent = 0;
        readMs = 0;
        response.write(messageOf('gap', {}, place));
        continue;
      }
      const events = [...found.events];
      send(events);
      sent += events.length;
      place = found.end ?? place;
      if (response.writableNeedDrain) await once(response, 'drain', { signal }).catch(() => undefined);
      isCaughtUp = !found.isFull && hub.handedOut() === handedOut;
    }
  }

  function beat(): void {
    const position = isCaughtUp ? latest(place, hub.position()) : place;
    response.write(position === undefined ? ': here\n\n' : `: here\nid: ${textOfPosition(position)}\n\n`);
  }

  let heartbeat: NodeJS.Timeout | undefined;
  try {
    await hub.join(watcher);
    const from = place ?? (await endOfEvents(db));
    response.set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.write(`retry: 2000\n${messageOf('listening', { since: new Date().toISOString() }, from)}`);
    heartbeat = setInterval(beat, HEARTBEAT_MS);
    await catchUp(from);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    clearInterval(heartbeat);
    hub.leave(watcher);
    if (response.headersSent) response.end();
  }
}

function messageOf(name: string, data: unknown, position?: StoredPosition): string {
  const id = position === undefined ? '' : `id: ${textOfPosition(position)}\n`;
  return `${id}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

const textOfPosition = ({ xid, id }: StoredPosition) => `${xid}-${id}`;

/** Reads what stands as the id of an event of the stream. Undefined when it is nothing of the kind. */
export function parseStoredPosition(text: string): StoredPosition | undefined {
  const [, xid, id] = /^(\d{1,19})-(\d{1,18})$/.exec(text) ?? [];
  return xid === undefined || id === undefined ? undefined : { xid, id };
}

function latest(
  one: StoredPosition | undefined,
  other: StoredPosition | undefined,
): StoredPosition | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return byPosition(one, other) < 0 ? other : one;
}
