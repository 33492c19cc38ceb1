import type { Period } from '../parse-time.ts';
import type { Db, Trx } from './database.ts';
import { allRows, run } from './statement.ts';

/** How far a scheduled report is. */
export interface ScheduleProgress {
  readonly name: string;
  readonly every: string;
  readonly zone: string;
  /** Start of the period of the next report. */
  readonly nextSince: Date;
  /** Failed attempts to send it. */
  readonly attempts: number;
  readonly lastError: string | null;
  /** When the latest report was sent, with the start of its period. */
  readonly sentAt: Date | null;
  readonly sentSince: Date | null;
}

/** A schedule, and the start of the period that it begins with. */
export interface OpenedSchedule {
  readonly name: string;
  readonly every: Period;
  readonly zone: string;
  readonly since: Date;
}

/** Notes a schedule. One that is known continues, unless its periods are others now. */
export async function openSchedule(db: Db, { name, every, zone, since }: OpenedSchedule): Promise<void> {
  await run(db)`
    insert into report_schedules (name, every, time_zone, next_since)
    values (${name}, ${every}, ${zone}, ${since}::timestamptz)
    on conflict (name) do update set every = excluded.every, time_zone = excluded.time_zone,
      next_since = excluded.next_since, attempts = 0, retry_at = null, last_error = null
      where (report_schedules.every, report_schedules.time_zone) <> (excluded.every, excluded.time_zone)`;
}

/** The progress of these schedules, by name. */
export async function readSchedules(db: Db, names: readonly string[]): Promise<readonly ScheduleProgress[]> {
  return allRows<ScheduleProgress>(db)`
    select name, every, time_zone as zone, next_since as "nextSince", attempts, last_error as "lastError", sent.sent_at as "sentAt", sent.since as "sentSince"
    from report_schedules left join lateral (
      select sent_at, since from reports_sent where schedule = name order by since desc limit 1) as sent on true
    where name = any(${[...names]}::text[]) order by name`;
}

/**
 * Takes the right to send the next report of a schedule, for so many seconds: false if another process has it, if the report
 * was sent meanwhile, or if the pause after a failure is not over.
 */
export async function leaseReport(db: Db, name: string, since: Date, seconds: number): Promise<boolean> {
  const rows = await allRows(db)`
    update report_schedules set leased_until = now() + make_interval(secs => ${seconds})
    where name = ${name} and next_since = ${since}::timestamptz
      and coalesce(leased_until <= now(), true) and coalesce(retry_at <= now(), true)
    returning name`;
  return rows.length > 0;
}

/** A report that was sent. */
export interface SentReport {
  readonly schedule: string;
  readonly since: Date;
  readonly until: Date;
  readonly report: string;
  readonly destination: string;
  readonly rows: number;
}

/** Notes that a report was sent: the next one is that of the period after it. */
export async function recordSent(
  trx: Trx,
  { schedule, since, until, report, destination, rows }: SentReport,
): Promise<void> {
  await run(trx)`
    insert into reports_sent (schedule, since, until, report, destination, row_count)
    values (${schedule}, ${since}::timestamptz, ${until}::timestamptz, ${report}, ${destination}, ${rows})
    on conflict (schedule, since) do nothing`;
  await run(trx)`
    update report_schedules set next_since = ${until}::timestamptz, leased_until = null, attempts = 0, retry_at = null,
      last_error = null
    where name = ${schedule} and next_since = ${since}::timestamptz`;
}

/** Notes that a report could not be sent, and for how many seconds to wait. */
export async function recordNotSent(
  db: Db,
  name: string,
  since: Date,
  error: string,
  seconds: number,
): Promise<void> {
  await run(db)`
    update report_schedules set leased_until = null, attempts = attempts + 1, last_error = ${error},
      retry_at = now() + make_interval(secs => ${seconds})
    where name = ${name} and next_since = ${since}::timestamptz`;
}
