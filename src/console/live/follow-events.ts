import { once } from 'node:events';
import type { Response } from 'express';
import { createSearchMatch } from '../../events/match-search.ts';
import type { EventTerm } from '../../events/search-query.ts';
import { viewEvent, type LoggedEvent, type StoredEvent } from '../../events/stored-event.ts';
import { readSlice } from '../../store/events/read-events.ts';
import { openLog, readRange } from '../../store/log/read-log.ts';
import { withinTime, type Db } from '../../store/server/database.ts';
import type { Scope } from '../../store/server/scope.ts';
import { summarizeEvent } from '../../events/event-summary.ts';
import type { EventHub, Watcher } from './event-hub.ts';

export interface FollowOptions {
  readonly db: Db;
  readonly hub: EventHub;
  readonly scope: Scope;
  readonly terms: readonly EventTerm[];
  /** The position after the last event of an earlier stream; undefined to start with new events. */
  readonly after: number | undefined;
  /** Draws events for a reader who sees them in a list; undefined: no rows are sent. */
  readonly draw: ((events: readonly StoredEvent[]) => Promise<readonly string[]>) | undefined;
  readonly signal: AbortSignal;
}

/** Proxies close connections that are idle for a minute. */
const HEARTBEAT_MS = 15_000;

/** Bytes buffered for a slow reader. A screenful is a hundredth of it. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Stored events read at once, whether they match or not. */
const SLICE = 2_000;

/** The most events that a reconnecting stream catches up on; the search has all of them. */
const MAX_CATCH_UP = 10_000;

/** The most events of a batch that have their row: more pass by faster than a person reads. */
const MAX_ROWS = 100;

/** Time limit for reading, of one statement and of all together. */
const CATCH_UP_TIMEOUT_MS = 5_000;

/**
 * Writes server-sent events (HTML Standard, section 9.2) until the signal fires or the client disconnects: `listening` first,
 * `stored` for each matching event, `gap` if too many events were missed, `trouble` when the database stops answering
 * or answers again. Each message carries its position, from which the next stream resumes.
 */
export async function followEvents(options: FollowOptions, response: Response): Promise<void> {
  const { db, hub, scope, terms, draw, signal } = options;
  const matches = createSearchMatch(terms);
  let place = options.after;
  let isCaughtUp = false;
  let sending = Promise.resolve();
  let unwritten = 0;

  const watcher: Watcher = {
    scope,
    terms,
    take(events) {
      if (isCaughtUp) void send(events.filter(matches));
      // A reader that is too slow is disconnected, and resumes from its position when it reconnects.
      if (response.writableLength > MAX_WAITING_BYTES) response.destroy();
    },
    onTrouble(trouble) {
      if (response.headersSent) response.write(messageOf('trouble', { message: trouble ?? null }));
    },
  };

  function send(events: readonly LoggedEvent[]): Promise<void> {
    sending = writeAfter(sending, events);
    return sending;
  }

  async function writeAfter(earlier: Promise<void>, events: readonly LoggedEvent[]): Promise<void> {
    unwritten += 1;
    await earlier;
    // The hub may lag behind what was read here.
    const unsent = events.filter(({ position }) => place === undefined || position >= place);
    const latest = unsent.slice(-MAX_ROWS);
    // Without its row the reader counts an event, and does not miss it.
    const rows = (await draw?.(latest).catch(() => undefined)) ?? [];
    unwritten -= 1;
    if (signal.aborted) return;
    for (const [index, event] of unsent.entries()) {
      const row = rows[index - unsent.length + latest.length];
      place = event.position + 1;
      response.write(messageOf('stored', { ...toLiveEvent(event), row }, place));
    }
  }

  /** Sends the events stored since `place`, until the hub has handed out nothing newer. */
  async function catchUp(from: number): Promise<void> {
    place = from;
    let sent = 0;
    let readMs = 0;
    while (!isCaughtUp && !signal.aborted) {
      const handedOut = hub.handedOut();
      const began = performance.now();
      const found = await withinTime(db, CATCH_UP_TIMEOUT_MS, (trx) =>
        readSlice(openLog(trx), scope, place ?? from, SLICE, { terms }),
      );
      readMs += performance.now() - began;
      if (found === undefined || sent >= MAX_CATCH_UP || readMs > CATCH_UP_TIMEOUT_MS) {
        place = (await readRange(db)).next;
        sent = 0;
        readMs = 0;
        response.write(messageOf('gap', {}, place));
        continue;
      }
      const events = [...found.events];
      await send(events);
      sent += events.length;
      place = found.end ?? place;
      if (response.writableNeedDrain) await once(response, 'drain', { signal }).catch(() => undefined);
      isCaughtUp = !found.isFull && hub.handedOut() === handedOut;
    }
  }

  function beat(): void {
    const position = isCaughtUp && unwritten === 0 ? Math.max(place ?? 0, hub.position() ?? 0) : place;
    response.write(position === undefined ? ': alive\n\n' : `: alive\nid: ${position}\n\n`);
  }

  let heartbeat: NodeJS.Timeout | undefined;
  try {
    await hub.join(watcher);
    const from = place ?? (await readRange(db)).next;
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

function messageOf(name: string, data: unknown, position?: number): string {
  const id = position === undefined ? '' : `id: ${position}\n`;
  return `${id}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Parses the id of a message of the stream. Undefined if it is not one. */
export function parseStoredPosition(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** A stored event in one line, the LiveEvent of the documentation of the route. */
function toLiveEvent(event: StoredEvent) {
  const { user, clientMac, apMac } = viewEvent(event);
  return {
    event_id: event.eventId,
    message_type: event.messageType,
    source: event.source,
    occurred_at: event.occurredAt,
    user,
    client_mac: clientMac,
    ap_mac: apMac,
    summary: summarizeEvent(event),
  };
}
