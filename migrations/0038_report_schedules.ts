import { sql, type Kysely } from 'kysely';

/** Older programs send no reports. */
export const olderProgramsMayRun = true;

/** How far each scheduled report is, and the reports that were sent. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table report_schedules (
      name text primary key,
      every text not null check (every in ('day', 'week', 'month')),
      time_zone text not null,
      next_since timestamptz not null,
      leased_until timestamptz,
      attempts integer not null default 0,
      retry_at timestamptz,
      last_error text
    )`.execute(db);
  await sql`
    create table reports_sent (
      schedule text not null,
      since timestamptz not null,
      until timestamptz not null,
      report text not null,
      destination text not null,
      row_count bigint not null,
      sent_at timestamptz not null default now(),
      primary key (schedule, since)
    )`.execute(db);
  await sql`revoke all on report_schedules, reports_sent from public, xiq_reader`.execute(db);
  for (const [object, text] of Object.entries(COMMENTS)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}

const COMMENTS = {
  'table report_schedules': 'The progress of the scheduled reports of the settings',
  'column report_schedules.next_since': 'Start of the period of the next report',
  'column report_schedules.leased_until': 'Until then, a process may be sending the next report',
  'column report_schedules.attempts': 'Failed attempts to send the next report',
  'table reports_sent': 'Scheduled reports that were sent, each period once',
} as const;
