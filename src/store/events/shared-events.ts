import type { MessageType } from '../../events/domain.ts';
import type { StoredRow } from './event-rows.ts';
import { readRows, toLoggedEvent, type LogSlice } from './read-events.ts';
import type { Log, LogEntry, LogRange } from '../log/read-log.ts';
import { openOrganizationNames, type OrganizationNames } from '../reconcile/organization-names.ts';
import { ALL_SOURCES } from '../server/scope.ts';
import type { LoggedEvent } from '../../events/stored-event.ts';

export type SharedEvents = ReturnType<typeof openSharedEvents>;

/** A slice, and a timeline of the server on or after which it was read (`TIMELINE`). */
export type DatedSlice = LogSlice & Pick<LogRange, 'timeline'>;

/** As many as two slices of a reader. */
const KEPT_EVENTS = 2_000;
/** Of their payloads' texts. */
const KEPT_CHARACTERS = 8_000_000;

/** What is erased meanwhile must not be sent long after. */
const KEPT_MS = 5_000;

/** An event whose row has been read, or is being read. */
interface Kept {
  /** When, by the clock of `performance`. */
  readonly began: number;
  readonly eventId: string | null;
  readonly loading: Promise<void>;
  /** Undefined also of an event that was erased, superseded, or dropped by retention. */
  row?: StoredRow;
  /** The rows before it were all that fits: it is to be read again. */
  isLeftOut?: boolean;
  event?: LoggedEvent;
}

/** The events of the log for many readers that follow it at the same time: each row is read and parsed once. */
export function openSharedEvents(log: Log) {
  const organizations = openOrganizationNames(log);
  const kept = new Map<number, Kept>();
  let characters = 0;
  let readers = 0;

  function drop(position: number, one: Kept): void {
    characters -= one.row?.payload.length ?? 0;
    kept.delete(position);
  }

  /** Drops what was read first. */
  function dropExcess(): void {
    const oldest = performance.now() - KEPT_MS;
    for (const [position, one] of kept) {
      const fits = kept.size <= KEPT_EVENTS && characters <= KEPT_CHARACTERS;
      if (readers > 1 && fits && one.began > oldest) break;
      drop(position, one);
    }
  }

  function load(entries: readonly LogEntry[]): void {
    const began = performance.now();
    const byPosition = new Map<number, Kept>();
    const readAll = async () => {
      const { rows, next = Infinity } = await readRows(log.db, ALL_SOURCES, entries);
      for (const [position, one] of byPosition) {
        if (position < next) continue;
        one.isLeftOut = true;
        if (kept.get(position) === one) drop(position, one);
      }
      for (const row of rows) {
        const one = byPosition.get(row.position);
        if (one === undefined) continue;
        one.row = row;
        if (kept.get(row.position) === one) characters += row.payload.length;
      }
    };
    const loading = readAll();
    for (const { position, eventId } of entries) {
      const before = kept.get(position);
      if (before !== undefined) drop(position, before);
      const one = { began, eventId, loading };
      byPosition.set(position, one);
      kept.set(position, one);
    }
    loading.catch(() => {
      for (const [position, one] of byPosition) if (kept.get(position) === one) drop(position, one);
    });
  }

  return {
    /** Says that one more reads, until the returned function is called. For a single reader, nothing is kept. */
    join() {
      readers += 1;
      return () => {
        readers -= 1;
      };
    },
    /** The next `limit` events from a position on; of these, the ones of the message types. */
    async read(position: number, limit: number, messageTypes: ReadonlySet<MessageType>): Promise<DatedSlice> {
      dropExcess();
      const { timeline } = await log.range();
      const entries = await log.read(position, limit);
      const last = entries.at(-1);
      if (last === undefined) return { events: [], end: undefined, isFull: false, timeline };
      const wanted = entries.filter(({ messageType }) => messageTypes.has(messageType));
      const missing = wanted.filter(({ position: at, eventId }) => kept.get(at)?.eventId !== eventId);
      if (missing.length > 0) load(missing);
      // From here on, they are no longer needed in the map.
      const found = wanted.flatMap((entry) => kept.get(entry.position) ?? []);
      dropExcess();
      await Promise.all(new Set(found.map(({ loading }) => loading)));
      const nameOf = await organizations();
      const fitting = found.findIndex(({ isLeftOut }) => isLeftOut === true);
      const end = wanted[fitting]?.position;
      if (end !== undefined)
        return { events: eventsOf(found.slice(0, fitting), nameOf), end, isFull: true, timeline };
      const isFull = entries.length === limit;
      return { events: eventsOf(found, nameOf), end: last.position + 1, isFull, timeline };
    },
  };
}

function* eventsOf(all: readonly Kept[], nameOf: OrganizationNames): Generator<LoggedEvent> {
  for (const one of all) {
    if (one.row === undefined) continue;
    if (one.event === undefined) {
      const event = toLoggedEvent(one.row);
      one.event = { ...event, organization: nameOf(event) };
    }
    yield one.event;
  }
}
