import { sql } from 'kysely';
import { FAMILIES } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { selectRows, toEvent } from './event-rows.ts';
import type { StoredEvent } from './read-events.ts';
import { withinTime } from './timed-query.ts';

const TIMEOUT_MS = 5_000;

/**
 * One event by its id, at once when the time is given as well (to the millisecond). Without, everything is looked
 * through, for 5 seconds a family at most: undefined when it was not found by then, or is not there.
 */
export async function findEvent(
  db: Db,
  eventId: string,
  occurredAt?: Date,
): Promise<StoredEvent | undefined> {
  const isAt =
    occurredAt === undefined
      ? sql`true`
      : sql`occurred_at >= ${occurredAt} and occurred_at < ${occurredAt}::timestamptz + interval '1 millisecond'`;
  for (const family of FAMILIES) {
    const found = await withinTime(db, TIMEOUT_MS, (trx) =>
      selectRows(
        trx,
        family,
        sql`${sql.table(TABLE_OF[family])} where ${isAt} and event_id = ${eventId}::uuid limit 1`,
      ),
    );
    const [row] = found ?? [];
    if (row !== undefined) return toEvent(row);
  }
  return undefined;
}
