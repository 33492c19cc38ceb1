import type { MessageType } from '../domain.ts';
import type { Db } from './database.ts';

/** How many events there are of each message type that has any. */
export async function countEvents(db: Db): Promise<ReadonlyMap<MessageType, number>> {
  const rows = await db
    .selectFrom('events')
    .select(({ fn }) => ['message_type' as const, fn.countAll<string>().as('count')])
    .groupBy('message_type')
    .execute();
  return new Map(rows.map(({ message_type, count }) => [message_type, Number(count)]));
}
