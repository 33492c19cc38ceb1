import { sql, type RawBuilder } from 'kysely';
import { FAMILIES, type Family, type MessageType } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import { unionAll } from '../server/condition.ts';
import type { Db } from '../server/database.ts';
import { allRows } from '../server/statement.ts';

/** How many stored events of one source and message type have a time that is wrong in some way. */
export interface WrongTimes {
  readonly source: string;
  readonly messageType: MessageType;
  readonly events: number;
}

/** No more are counted of each family. */
const MOST_COUNTED = 10_000;

/** Counts the stored events that are more than five minutes ahead of the database's clock, by source and message type. */
export const countAhead = (db: Db) =>
  countWhere(db, FAMILIES, sql`occurred_at > now() + interval '5 minutes'`);

/**
 * Counts the events of the last hour, by source and message type, whose record had no time or none that could be read: they
 * have the time of their receipt, so that one that is delivered again is stored again. Types that this program does not know
 * promise no time.
 */
export const countUnreadTimes = (db: Db) =>
  countWhere(
    db,
    FAMILIES.filter((family) => family !== 'other'),
    sql`occurred_at > now() - interval '1 hour' and occurred_at = received_at`,
  );

async function countWhere(db: Db, families: readonly Family[], condition: RawBuilder<unknown>) {
  const parts = families.map(
    (family) => sql`(select source, message_type from ${sql.table(TABLE_OF[family])}
      where ${condition} limit ${MOST_COUNTED})`,
  );
  return allRows<WrongTimes>(db)`
    select source, message_type as "messageType", count(*)::float8 as events
    from (${unionAll(parts)}) as wrong group by 1, 2 order by 3 desc, 1, 2`;
}
