import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/**
 * What arrived, by minute, source and message type, kept ready for charts. Deliveries get the transaction that stored
 * them, so that each is counted once; those of before have none and are counted by the time of their arrival.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // In two steps: a column that comes with this default would rewrite the table.
  await sql`alter table deliveries add column xid xid8`.execute(db);
  await sql`alter table deliveries alter column xid set default pg_current_xact_id()`.execute(db);
  await sql`create index deliveries_xid on deliveries (xid) where xid is not null`.execute(db);
  // What no vacuum has summarised yet would be read for each stretch of the old deliveries.
  await sql`select brin_summarize_new_values('deliveries_received_at')`.execute(db);

  await createTables(db);
  await sql`
    insert into arrivals_progress (next_xid, old_before)
    values ('0', case when exists (select from deliveries) then timestamptz 'infinity' end)`.execute(db);
  await sql`grant select on arrivals, arrival_totals, arrivals_progress to xiq_reader`.execute(db);
}

/** What is counted of deliveries, alike by time and in total. */
const COUNTS = sql`
  deliveries bigint not null,
  records bigint not null,
  expected bigint not null,
  events bigint not null,
  duplicates bigint not null,
  quarantined bigint not null,
  bytes bigint not null,
  unbalanced bigint not null,
  last_received_at timestamptz not null`;

async function createTables(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table arrivals (
      bucket timestamptz not null,
      seconds integer not null check (seconds in (60, 3600)),
      source text not null,
      message_type text not null,
      ${COUNTS},
      primary key (bucket, seconds, source, message_type)
    )`.execute(db);
  await sql`
    create table arrival_totals (
      source text not null,
      message_type text not null,
      ${COUNTS},
      primary key (source, message_type)
    )`.execute(db);
  await sql`
    create table arrivals_progress (
      only_row boolean primary key default true check (only_row),
      next_xid xid8 not null,
      old_before timestamptz,
      old_seconds integer not null default 3600
    )`.execute(db);
  const comments = {
    'table arrivals': 'What arrived, counted by time of arrival; some seconds behind deliveries',
    'column arrivals.bucket': 'Start of the minute or hour',
    'column arrivals.seconds': '60; 3600 once it is older than 14 days',
    'column arrivals.unbalanced': 'Deliveries whose counts do not add up: none when all is well',
    'table arrival_totals': 'The same of all times',
    'table arrivals_progress': 'How far deliveries are counted in arrivals; who counts locks its one row',
    'column arrivals_progress.next_xid': 'Deliveries that an earlier transaction stored are counted',
    'column arrivals_progress.old_before':
      'Of the deliveries without xid, those received at this time or later are counted; null: all are',
    'column arrivals_progress.old_seconds': 'How long a stretch of these is counted next',
    'column deliveries.xid': 'The transaction that stored it; null in rows of before this column',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}
