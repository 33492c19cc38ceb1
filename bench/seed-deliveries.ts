import { tableOf } from '../src/events/message-types.ts';
import { addMonths } from '../src/store/partitions/partitioned-tables.ts';
import { maintainPartitions } from '../src/store/partitions/partitions.ts';
import { withDatabase } from '../src/store/server/database.ts';
import { asOwner, SEEDED_DAYS, startOf, writeEvents } from './seed-events.ts';
import type { Seeded, Span } from './seed-events.ts';
import { SEEDED_TYPES } from './seeded-types.ts';

/** The seeded deliveries have this many records. Their events do not refer to them. */
const RECORDS = 20;

const DAY_MS = 86_400_000;
const MONTHS = 12;

/** Adds the deliveries that the seeded events would have arrived with, unless an earlier run has. */
export async function seedDeliveries(databaseUrl: string, seeded: Seeded): Promise<void> {
  const span = { from: startOf(seeded), days: SEEDED_DAYS, events: seeded.events };
  if (await hasRows(databaseUrl, 'deliveries', 'received_at', span)) return;
  console.error('seeding deliveries');
  await createMonths(databaseUrl, span.from, seeded.until);
  await writeDeliveries(databaseUrl, span);
}

/** The month before all seeded events. */
export const monthBefore = (seeded: Seeded) => addMonths(startOf(seeded), -1);

/**
 * Fills the month before all seeded events with a twelfth of their number, unless it is filled already, so that retention
 * can drop a month of a usual size and all seeded events stay.
 */
export async function seedMonth(databaseUrl: string, seeded: Seeded, signal: AbortSignal): Promise<void> {
  const from = monthBefore(seeded);
  const days = Math.round((addMonths(from, 1).getTime() - from.getTime()) / DAY_MS);
  const span = { from, days, events: seeded.events / MONTHS };
  // Deliveries are written last.
  if (await hasRows(databaseUrl, 'deliveries', 'received_at', span)) return;
  console.error(`seeding a month to drop, ${from.toISOString().slice(0, 7)}`);
  await createMonths(databaseUrl, from, addMonths(from, 1));
  await writeEvents(databaseUrl, span, signal);
  await writeDeliveries(databaseUrl, span);
}

/** The number of seeded events of the month before all others. */
export async function countMonth(databaseUrl: string, seeded: Seeded): Promise<number> {
  const from = monthBefore(seeded);
  const tables = [...new Set(SEEDED_TYPES.map(({ messageType }) => tableOf(messageType)))];
  const counts = tables.map(
    (table) => `select count(*) as events from ${table} where occurred_at >= $1 and occurred_at < $2`,
  );
  return asOwner(databaseUrl, async (client) => {
    const { rows } = await client.query<{ events: number }>(
      `select sum(events)::float8 as events from (${counts.join(' union all ')}) as counted`,
      [from, addMonths(from, 1)],
    );
    return rows[0]?.events ?? 0;
  });
}

/** Creates the partitions from one time to another. */
export async function createMonths(databaseUrl: string, from: Date, until: Date): Promise<void> {
  await withDatabase(databaseUrl, async (db) => {
    for (let month = from; month < until; month = addMonths(month, 1)) {
      await maintainPartitions(db, month, {});
    }
  });
}

async function hasRows(
  databaseUrl: string,
  table: string,
  time: string,
  { from, days }: Span,
): Promise<boolean> {
  return asOwner(databaseUrl, async (client) => {
    const { rows } = await client.query<{ found: boolean }>(
      `select exists (select from ${table} where ${time} >= $1 and ${time} < $2) as found`,
      [from, new Date(from.getTime() + days * DAY_MS)],
    );
    return rows[0]?.found === true;
  });
}

/** All or none, and evenly over the days. */
async function writeDeliveries(databaseUrl: string, { from, days, events }: Span): Promise<void> {
  const seconds = (days * DAY_MS) / 1_000;
  await asOwner(databaseUrl, async (client) => {
    await client.query('begin');
    for (const { messageType, share } of SEEDED_TYPES) {
      await client.query(
        `insert into deliveries (delivery_id, source, message_type, received_at, origin, secret_form, body_bytes,
          record_count, expected_count, event_count, duplicate_count, quarantined_count, refused_count)
        select uuidv7(t - clock_timestamp()), case when g % 10 = 0 then 'branch' else 'default' end, $1, t, 'webhook',
          'bearer', 500 * $5::int, $5, $5, $5, 0, 0, 0
        from (select g, $2::timestamptz + make_interval(secs => $3 * (g - random()) / $4::float8) as t
          from generate_series(1, $4::int) as g) as drawn`,
        [messageType, from, seconds, Math.ceil((events * share) / RECORDS), RECORDS],
      );
    }
    await client.query('commit');
  });
}
