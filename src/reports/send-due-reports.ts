import type { Logger } from 'pino';
import { describeError } from '../lib/errors.ts';
import { findDestination, type Destination } from '../forward/parse-destinations.ts';
import type { ReportSchedule } from './parse-schedules.ts';
import type { ReportDocument } from '../forward/report-document.ts';
import { withSender } from '../forward/send-to-destination.ts';
import { RetryLaterError } from '../forward/sender.ts';
import { periodAt, type PeriodRange } from '../lib/text/parse-time.ts';
import type { Db } from '../store/server/database.ts';
import { recordEnded, SERVICE } from '../store/access/operator-log.ts';
import {
  leaseReport,
  openSchedule,
  readSchedules,
  recordNotSent,
  recordSent,
  type ScheduleProgress,
} from '../store/reports/report-schedules.ts';
import { MOST_FILE_ROWS, readReport, reportOf } from '../store/reports/reports.ts';
import { ALL_SOURCES } from '../store/server/scope.ts';
import { repeatInBackground } from '../lib/repeat.ts';

/** A report is made so long after its period, so that the last events of the period are stored. */
const DELAY_MS = 15 * 60_000;

/** Longer than making and sending a report takes. */
const LEASE_S = 15 * 60;

/** Seconds until the next attempt: as many as the destination requests, or 30, doubled after each failure. At most an hour. */
const pauseAfter = (error: unknown, attempts: number) =>
  Math.min(error instanceof RetryLaterError ? error.afterMs / 1_000 : 30 * 2 ** attempts, 3_600);

export interface Sending {
  readonly db: Db;
  /** Reads archived events, too: a report can be late. */
  readonly events: Db;
  readonly config: {
    readonly schedules: readonly ReportSchedule[];
    readonly destinations: readonly Destination[];
  };
  readonly logger: Logger;
  readonly now: Date;
}

/** Sends the next report of each schedule whose period is over. `more` if another period may wait. */
export async function sendDueReports(sending: Sending): Promise<'more' | 'done'> {
  const { db, config, now } = sending;
  const { schedules } = config;
  if (schedules.length === 0) return 'done';
  const names = schedules.map(({ name }) => name);
  const known = await readSchedules(db, names);
  const changed = schedules.filter(
    ({ name, every, time_zone: zone }) =>
      !known.some((one) => one.name === name && one.every === every && one.zone === zone),
  );
  for (const { name, every, time_zone: zone } of changed) {
    await openSchedule(db, { name, every, zone, since: periodAt(every, now, zone).since });
  }
  const progress = changed.length === 0 ? known : await readSchedules(db, names);
  let next: 'more' | 'done' = 'done';
  for (const one of progress) {
    const schedule = schedules.find(({ name }) => name === one.name);
    if (schedule === undefined) continue;
    if ((await sendIfDue(sending, schedule, one)) === 'sent') next = 'more';
  }
  return next;
}

async function sendIfDue(
  { db, events, config, logger, now }: Sending,
  schedule: ReportSchedule,
  { nextSince, attempts }: ScheduleProgress,
): Promise<'sent' | 'not sent'> {
  const { name, report, destination, source, user } = schedule;
  const period = periodAt(schedule.every, nextSince, schedule.time_zone);
  if (period.until.getTime() + DELAY_MS > now.getTime()) return 'not sent';
  if (!(await leaseReport(db, name, nextSince, LEASE_S))) return 'not sent';
  const { since, until } = period;
  const details = { report, destination, since, until, source, user };
  const action = { operator: SERVICE, action: 'report.send', subject: name, details } as const;
  try {
    const document = await makeDocument(events, schedule, period);
    await send(config, destination, document);
    const rows = document.rows.length;
    await db.transaction().execute(async (trx) => {
      await recordSent(trx, { schedule: name, since, until, report, destination, row_count: rows });
      await recordEnded(trx, action, 'done', { rows });
    });
    logger.info({ schedule: name, period: period.label, rows }, `report ${name} was sent to ${destination}`);
    return 'sent';
  } catch (error) {
    const reason = describeError(error);
    await recordNotSent(db, name, nextSince, reason, pauseAfter(error, attempts));
    if (attempts === 0) await recordEnded(db, action, 'failed', { error: reason });
    logger.warn({ err: error, schedule: name }, `report ${name} was not sent to ${destination}: ${reason}`);
    return 'not sent';
  }
}

async function makeDocument(
  events: Db,
  { name, report: reportName, time_zone: zone, source, user }: ReportSchedule,
  { label, since, until }: PeriodRange,
): Promise<ReportDocument> {
  const report = reportOf(reportName);
  const scope = source === undefined ? ALL_SOURCES : [source];
  const rows = await readReport(events, report, { since, until, zone, scope, user }, MOST_FILE_ROWS + 1);
  return {
    id: `${name}-${label}`,
    schedule: name,
    report: reportName,
    title: report.title,
    answers: report.answers,
    period: label,
    since,
    until,
    zone,
    rows: rows.slice(0, MOST_FILE_ROWS),
    isCut: rows.length > MOST_FILE_ROWS,
  };
}

async function send({ destinations }: Sending['config'], name: string, document: ReportDocument) {
  const found = findDestination(destinations, name);
  await withSender(found, async (sender) => {
    if (sender.sendReport === undefined)
      throw new TypeError(`destinations of type ${found.type} cannot receive reports`);
    await sender.sendReport(document);
  });
}

const INTERVAL_MS = 15_000;

/** Sends the scheduled reports of the settings in force. Any number of processes may: each report is sent by one of them. */
export function startReporting(sending: Omit<Sending, 'now'>, started: AsyncDisposableStack): void {
  const work = () => sendDueReports({ ...sending, now: new Date() });
  const failure = 'scheduled reports were not checked';
  repeatInBackground(
    { part: 'scheduled reports', failure, pauseMs: INTERVAL_MS, work },
    sending.logger,
    started,
  );
}
