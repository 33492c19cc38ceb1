import { sql } from 'kysely';
import { isMessageType } from '../domain.ts';
import type { MessageType } from '../domain.ts';
import type { Db } from './database.ts';

/** A source and message type from which something arrived, or for which the cloud holds an enabled subscription. */
export interface LastArrival {
  readonly source: string;
  readonly messageType: MessageType;
  /** Undefined when nothing ever arrived. */
  readonly lastReceivedAt: Date | undefined;
}

/** When each last arrived, what the last roll-up has not counted included. */
export async function readLastArrivals(db: Db): Promise<LastArrival[]> {
  const { rows } = await sql<{ source: string; message_type: string; last_received_at: Date | null }>`
    select source, message_type, max(last_received_at) as last_received_at
    from (
      select source, message_type, last_received_at from arrival_totals
      union all
      select source, message_type, received_at from deliveries
      where xid >= (select next_xid from arrivals_progress)
      union all
      select source, message_type, null from subscriptions where status = 'ENABLED'
    ) as seen
    group by 1, 2 order by 1, 2`.execute(db);
  return rows.flatMap(({ source, message_type: messageType, last_received_at: last }) =>
    isMessageType(messageType) ? [{ source, messageType, lastReceivedAt: last ?? undefined }] : [],
  );
}

/** An hour in which something arrived of one source and message type; times are epoch milliseconds. */
export interface ArrivalHour {
  readonly source: string;
  readonly messageType: MessageType;
  readonly start: number;
  readonly deliveries: number;
  /** The longest time without arrivals that began in it and has ended, to the minute. */
  readonly longestGap: { readonly from: number; readonly to: number } | undefined;
}

interface HourRow {
  readonly source: string;
  readonly message_type: string;
  readonly start: number;
  readonly deliveries: number;
  readonly gap_from: number | null;
  readonly gap_to: number | null;
}

/** The hours from `since` on, in their order, of each source and type, up to the last roll-up. */
export async function readArrivalHours(db: Db, since: Date): Promise<ArrivalHour[]> {
  // What is known to the minute arrived in the middle of it; of what is known to the hour, a gap is the least it was.
  const { rows } = await sql<HourRow>`
    with counted as (
      select source, message_type, deliveries, date_bin('1 hour', bucket, 'epoch') as start,
             extract(epoch from bucket)::float8 + seconds - 30 as gap_from,
             extract(epoch from lead(bucket) over in_order)::float8 + 30 as gap_to
      from arrivals where bucket >= ${since}
      window in_order as (partition by source, message_type order by bucket, seconds desc)
    ), hours as (
      select source, message_type, start, sum(deliveries)::float8 as deliveries from counted group by 1, 2, 3
    ), longest as (
      select distinct on (source, message_type, start) source, message_type, start, gap_from, gap_to
      from counted where gap_to > gap_from
      order by source, message_type, start, gap_to - gap_from desc
    )
    select source, message_type, extract(epoch from start)::float8 as start, deliveries, gap_from, gap_to
    from hours left join longest using (source, message_type, start)
    order by source, message_type, start`.execute(db);
  return rows.flatMap(
    ({ source, message_type: messageType, start, deliveries, gap_from: from, gap_to: to }) => {
      if (!isMessageType(messageType)) return [];
      const longestGap = from === null || to === null ? undefined : { from: from * 1000, to: to * 1000 };
      return [{ source, messageType, start: start * 1000, deliveries, longestGap }];
    },
  );
}

/** Whether what is being stored arrived long before: then a silence says nothing of who sends. */
export async function isCatchingUp(db: Db): Promise<boolean> {
  const { rows } = await sql<{ is_behind: boolean }>`
    select stored_at > now() - interval '2 minutes' and received_at < stored_at - interval '2 minutes' as is_behind
    from deliveries where xid is not null order by xid desc limit 1`.execute(db);
  return rows[0]?.is_behind ?? false;
}
