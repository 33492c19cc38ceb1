import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** A roll-up of an older program would leave deliveries out. */
export const olderProgramsMayRun = false;

/** Entries of one tile. */
const TILE = 256;

/**
 * Seals deliveries: each roll-up queues what it counts, in tiles of up to 256, and each tile becomes a statement. What was
 * counted before is queued here, as it is found.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table log_delivery_queue (
      id bigint generated always as identity primary key,
      delivery_ids uuid[] not null,
      received_at timestamptz[] not null
    )`.execute(db);
  await sql`revoke all on log_delivery_queue from public, xiq_reader`.execute(db);
  // Roll-ups wait until this has ended.
  await sql`select from arrivals_progress for update`.execute(db);
  await sql`
    insert into log_delivery_queue (delivery_ids, received_at)
    select array_agg(delivery_id order by number), array_agg(received_at order by number)
    from (
      select delivery_id, received_at, row_number() over (order by received_at, delivery_id) - 1 as number
      from deliveries cross join arrivals_progress as progress
      where not coalesce(xid >= next_xid and deliveries.era = progress.era, false)
        and not (xid is null and coalesce(received_at < old_before, false))
    ) as counted group by number / ${sql.lit(TILE)}`.execute(db);
  const comments = {
    'table log_delivery_queue': 'Deliveries that are counted and not sealed yet',
    'column log_delivery_queue.received_at': 'When each was received, which leads to its partition',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}
