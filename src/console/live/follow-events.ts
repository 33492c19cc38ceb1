import { once } from 'node:events';
import type { Response } from 'express';
import { z } from 'zod';
import { MESSAGE_TYPES } from '../../domain.ts';
import type { Db } from '../../store/database.ts';
import { viewEvent } from '../../store/event-view.ts';
import { byPosition } from '../../store/read-events.ts';
import type { StoredEvent } from '../../store/read-events.ts';
import { endOfEvents, eventsStoredAfter } from '../../store/search-events.ts';
import type { EventFilter, StoredPosition } from '../../store/search-events.ts';
import { withinTime } from '../../store/timed-query.ts';
import { summaryOf } from '../events/event-table.ts';
import type { EventHub, Watcher } from './event-hub.ts';

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

const PAGE = 500;

/** Of what came while nobody read, so much is sent; the rest is in the search. */
const MAX_CATCH_UP = 10_000;

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
    while (!isCaughtUp && !signal.aborted) {
      const handedOut = hub.handedOut();
      const found = await withinTime(db, CATCH_UP_TIMEOUT_MS, (trx) =>
        eventsStoredAfter(trx, filter, place ?? from, PAGE),
      );
      if (found === undefined || sent >= MAX_CATCH_UP) {
        place = await endOfEvents(db);
        sent = 0;
        response.write(messageOf('gap', {}, place));
        continue;
      }
      send(found);
      sent += found.length;
      if (response.writableNeedDrain) await once(response, 'drain', { signal }).catch(() => undefined);
      isCaughtUp = found.length < PAGE && hub.handedOut() === handedOut;
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

/** An event as the list of live events shows it: who, where and what, in one line. */
export const liveEventSchema = z
  .object({
    event_id: z.string(),
    message_type: z.enum(MESSAGE_TYPES),
    source: z.string(),
    occurred_at: z.string(),
    user: z.string().nullable(),
    client_mac: z.string().nullable(),
    ap_mac: z.string().nullable(),
    summary: z.string(),
  })
  .meta({ id: 'LiveEvent', description: 'A stored event in one line' });

/** An event in one line. */
export function toLiveEvent(event: StoredEvent): z.output<typeof liveEventSchema> {
  const { user, clientMac, apMac } = viewEvent(event);
  return {
    event_id: event.eventId,
    message_type: event.messageType,
    source: event.source,
    occurred_at: event.occurredAt,
    user,
    client_mac: clientMac,
    ap_mac: apMac,
    summary: summaryOf(event),
  };
}

/** The conditions that events are watched by; all of them hold without asking the database. */
export type WatchFilter = Pick<EventFilter, 'messageTypes' | 'source' | 'user' | 'mac' | 'text'>;

/** Whether an event meets every condition, as the database would say; a MAC address is in the notation of events. */
export function matches(
  event: StoredEvent,
  { messageTypes = [], source, user, mac, text }: WatchFilter,
): boolean {
  if (messageTypes.length > 0 && !messageTypes.includes(event.messageType)) return false;
  if (source !== undefined && event.source !== source) return false;
  if (user === undefined && mac === undefined && text === undefined) return true;
  const view = viewEvent(event);
  if (user !== undefined && view.user !== user) return false;
  if (mac !== undefined && view.clientMac !== mac && view.apMac !== mac) return false;
  return text === undefined || spacedJson(event.payload).toLowerCase().includes(text.toLowerCase());
}

/** JSON as Postgres prints it, with a space behind each colon and comma: what a search by text looks in. */
function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}: ${spacedJson(inner)}`,
  );
  return `{${members.join(', ')}}`;
}
