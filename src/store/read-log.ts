import { LRUCache } from 'lru-cache';
import type { MessageType } from '../domain.ts';
import type { Db } from './database.ts';
import { TILE_ENTRIES } from './extend-log.ts';
import type { StoredEvent } from './stored-event.ts';
import { allRows, firstRow, onlyRow } from './statement.ts';

/** One event in the log: enough to know whether a reader wants it, and to find its row. */
export interface LogEntry {
  readonly position: number;
  readonly source: string;
  readonly messageType: MessageType;
  /** As Postgres prints it, with every digit; null when the event was erased. */
  readonly occurredAt: string | null;
  readonly eventId: string | null;
}

/** The positions that the log has: from the first one up to, and without, the next one. */
export interface LogRange {
  readonly first: number;
  readonly next: number;
}

/** A reader of the log, which several can share: it reads each tile once, and keeps the latest. */
export interface Log {
  readonly db: Db;
  range(): Promise<LogRange>;
  /** The entries from a position on, at most `limit`. Positions that the log does not have are left out. */
  read(position: number, limit: number): Promise<readonly LogEntry[]>;
}

/** Tiles that a reader keeps, of about 30 kB each. */
const KEPT_TILES = 128;

interface KeptTile {
  /** The log ended here when the tile was read. */
  readonly next: number;
  readonly entries: Promise<readonly LogEntry[]>;
}

type Kinds = ReadonlyMap<number, Pick<LogEntry, 'source' | 'messageType'>>;

/** Opens the log. Those who share it see what was added up to `maxAgeMs` ago. */
export function openLog(db: Db, maxAgeMs = 0): Log {
  const tiles = new LRUCache<number, KeptTile>({ max: KEPT_TILES });
  const range = shared(() => readRange(db), maxAgeMs);
  let kinds: Kinds = new Map();

  /** The entries of consecutive tiles. */
  async function load(from: number, to: number): Promise<readonly LogEntry[]> {
    const rows = await allRows<PieceRow>(db)`
      select first::float8, kinds, occurred_at::text[] as "occurredAt", event_ids::text[] as "eventIds"
      from log_tiles where first >= ${from}::bigint and first < ${to}::bigint order by log_tiles.first`;
    if (rows.some((row) => row.kinds.some((kind) => !kinds.has(kind)))) kinds = await readKinds(db);
    return rows.flatMap((row) => entriesOf(row, kinds));
  }

  /** The tiles with the positions of a range; those that are not kept are read together. */
  async function tilesOf(from: number, to: number, next: number): Promise<readonly (readonly LogEntry[])[]> {
    const numbers = [];
    for (let number = tileOf(from); number <= tileOf(to - 1); number += 1) numbers.push(number);
    const isKept = (number: number) =>
      (tiles.get(number)?.next ?? 0) >= Math.min(to, (number + 1) * TILE_ENTRIES);
    const missing = numbers.filter((number) => !isKept(number));
    const [lowest] = missing;
    const highest = missing.at(-1);
    if (lowest !== undefined && highest !== undefined) {
      const loaded = load(lowest * TILE_ENTRIES, (highest + 1) * TILE_ENTRIES);
      for (const number of missing) {
        const entries = loaded.then((all) => all.filter(({ position }) => tileOf(position) === number));
        entries.catch(() => tiles.delete(number));
        tiles.set(number, { next, entries });
      }
    }
    return Promise.all(numbers.map(async (number) => (await tiles.get(number)?.entries) ?? []));
  }

  return {
    db,
    range,
    async read(position, limit) {
      const { first, next } = await range();
      const from = Math.max(position, first);
      const to = Math.min(from + limit, next);
      if (from >= to) return [];
      const found = await tilesOf(from, to, next);
      return found.flat().filter((entry) => entry.position >= from && entry.position < to);
    },
  };
}

const tileOf = (position: number) => Math.floor(position / TILE_ENTRIES);

interface PieceRow {
  readonly first: number;
  readonly kinds: readonly number[];
  readonly occurredAt: readonly (string | null)[];
  readonly eventIds: readonly (string | null)[];
}

function entriesOf({ first, kinds, occurredAt, eventIds }: PieceRow, known: Kinds): readonly LogEntry[] {
  return kinds.map((kind, index) => {
    const about = known.get(kind);
    const at = occurredAt[index];
    const eventId = eventIds[index];
    if (about === undefined || at === undefined || eventId === undefined) {
      throw new TypeError(`the log's entry at position ${first + index} is damaged: see table log_tiles`);
    }
    return { position: first + index, ...about, occurredAt: at, eventId };
  });
}

async function readKinds(db: Db): Promise<Kinds> {
  const rows = await allRows<{ kind: number; source: string; messageType: MessageType }>(db)`
    select kind, source, message_type as "messageType" from log_kinds`;
  return new Map(rows.map(({ kind, ...about }) => [kind, about]));
}

/** Reads which positions the log has. */
export async function readRange(db: Db): Promise<LogRange> {
  return onlyRow<LogRange>(db)`
    select first_position::float8 as first, next_position::float8 as next from log_state`;
}

/** Lets calls within `maxAgeMs` share one result. A failure is shared by nobody who calls after it. */
export function shared<T>(load: () => Promise<T>, maxAgeMs: number): () => Promise<T> {
  let last: { readonly at: number; readonly value: Promise<T> } | undefined;
  return () => {
    const now = performance.now();
    if (last === undefined || now - last.at >= maxAgeMs) {
      const value = load();
      last = { at: now, value };
      value.catch(() => {
        last = undefined;
      });
    }
    return last.value;
  };
}

/**
 * The position of an event; undefined while it has none. No index leads to it, but its tile has events that were received
 * at about the same time.
 */
export async function positionOf(
  db: Db,
  { eventId, occurredAt, receivedAt }: Pick<StoredEvent, 'eventId' | 'occurredAt' | 'receivedAt'>,
): Promise<number | undefined> {
  const row = await firstRow<{ position: number }>(db)`
    select (first + number - 1)::float8 as position
    from log_tiles, unnest(event_ids, log_tiles.occurred_at) with ordinality as entry (event_id, at, number)
    where received_to >= ${receivedAt}::timestamptz
      and received_from < ${receivedAt}::timestamptz + interval '1 millisecond'
      and event_id = ${eventId}::uuid and date_trunc('milliseconds', at) = ${occurredAt}::timestamptz
    order by received_to limit 1`;
  return row?.position;
}

/** The position of the first event received at or after a time; the next one when there is none. */
export async function positionSince(db: Db, time: Date): Promise<number> {
  const row = await firstRow<{ position: number }>(db)`
    select coalesce(
      (select min(first + number - 1)
        from log_tiles, unnest(event_ids, log_tiles.occurred_at) with ordinality as entry (event_id, at, number)
        join events on events.event_id = entry.event_id and events.occurred_at = entry.at
        where first = (select min(first) from log_tiles where received_to >= ${time})
          and received_at >= ${time}),
      (select min(first) from log_tiles where received_to >= ${time}),
      next_position)::float8 as position
    from log_state`;
  return row?.position ?? 0;
}
