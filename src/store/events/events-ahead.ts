import { sql } from 'kysely';
import { FAMILIES, type MessageType } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import { unionAll } from '../server/condition.ts';
import type { Db } from '../server/database.ts';
import { allRows } from '../server/statement.ts';

/** Stored events of one source and message type whose time has not come yet. */
export interface EventsAhead {
  readonly source: string;
  readonly messageType: MessageType;
  readonly events: number;
}

/** No more are counted of each family. */
const MOST_AHEAD = 10_000;

/** Counts the stored events that are more than five minutes ahead of the database's clock, by source and message type. */
export async function countAhead(db: Db): Promise<readonly EventsAhead[]> {
  const parts = FAMILIES.map(
    (family) => sql`(select source, message_type from ${sql.table(TABLE_OF[family])}
      where occurred_at > now() + interval '5 minutes' limit ${MOST_AHEAD})`,
  );
  return allRows<EventsAhead>(db)`
    select source, message_type as "messageType", count(*)::float8 as events
    from (${unionAll(parts)}) as ahead group by 1, 2 order by 3 desc, 1, 2`;
}
