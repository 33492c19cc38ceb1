import { deriveColumns } from '../../handlers/delivery-to-events.ts';
import { isJsonObject, parseExactJson } from '../../events/exact-json.ts';
import type { MessageType } from '../../events/domain.ts';
import { TimeSlice } from '../../lib/time-slice.ts';
import { findUnderived, type DerivedColumns } from '../../store/events/insert-events.ts';
import type { SealedEvent } from '../../store/seal/sealed-rows.ts';
import type { Db } from '../../store/server/database.ts';

/** Where the sealed form of an event has when it occurred and when it was received. */
const [OCCURRED_AT, RECEIVED_AT] = [9, 10];

/**
 * Reads the columns of sealed events again from their payloads, as a worker did: what a trigger changed on the way in was
 * sealed as it was changed. Returns the names of the columns that differ, by event id.
 */
export async function findRewritten(
  db: Db,
  events: readonly SealedEvent[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  let rewritten = new Map<string, readonly string[]>();
  const timeSlice = new TimeSlice();
  for (const isFormer of [false, true]) {
    const doubtful = isFormer ? events.filter(({ eventId }) => rewritten.has(eventId ?? '')) : events;
    rewritten = new Map();
    for (const [messageType, some] of Map.groupBy(doubtful, (event) => event.messageType)) {
      const rows: DerivedColumns[] = [];
      for (const event of some) {
        rows.push(...derived(messageType, event, isFormer, rewritten));
        if (timeSlice.isOver()) await timeSlice.rest();
      }
      for (const { eventId, columns } of await findUnderived(db, messageType, rows)) {
        rewritten.set(eventId, columns);
      }
    }
  }
  return rewritten;
}

function derived(
  messageType: MessageType,
  { eventId, record }: SealedEvent,
  isFormer: boolean,
  rewritten: Map<string, readonly string[]>,
): readonly DerivedColumns[] {
  if (eventId === null || record === null) return [];
  const values = parseExactJson(record);
  if (!Array.isArray(values)) return [];
  const storedAt: unknown = values[OCCURRED_AT];
  const receivedAt: unknown = values[RECEIVED_AT];
  const payload: unknown = values.at(-1);
  const isWhole = isJsonObject(payload) && typeof storedAt === 'string' && typeof receivedAt === 'string';
  const columns = isWhole ? deriveColumns(messageType, receivedAt, payload, isFormer) : undefined;
  if (columns !== undefined && typeof storedAt === 'string') return [{ eventId, storedAt, ...columns }];
  rewritten.set(eventId, ['payload']);
  return [];
}
