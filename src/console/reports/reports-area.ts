import { z } from 'zod';
import { monthRange, PERIODS, rangeBefore } from '../../lib/text/parse-time.ts';
import { REPORT_NAMES, type ReportName } from '../../store/reports/report-names.ts';
import { BOM } from '../../lib/text/csv.ts';
import type { Db } from '../../store/server/database.ts';
import { recordAction, recordEnded } from '../../store/access/operator-log.ts';
import {
  MOST_FILE_ROWS,
  readReport,
  reportCsv,
  reportOf,
  REPORTS,
  type Report,
  type ReportRange,
} from '../../store/reports/reports.ts';
import { EXPORT, hasAccess, READ_OPERATOR_LOG, VIEW, VIEW_WHOLE, type Visitor } from '../access/access.ts';
import { isoTime, moment, month, timeZone, queryOf, readQuery, text } from '../api/parameters.ts';
import { whole, wholeSchema } from '../api/paging.ts';
import { jsonRoute, streamRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { withValidRange } from '../events/conditions.ts';
import { zoneOf } from '../html/time-zone.ts';
import type { ReportSchedule } from '../../reports/parse-schedules.ts';
import { describeSchedules, MOST_ROWS, reportPage } from './reports-page.ts';

const shape = {
  month: month.describe('a month such as 2026-03'),
  since: moment.optional().describe('start of a range, instead of a month'),
  until: moment.optional().describe('end of the range, exclusive; now unless given'),
  tz: timeZone.optional().describe('time zone of the month and of working hours; UTC unless given'),
  user: text.optional(),
};

const query = withValidRange(shape);
const pageQuery = withValidRange({ ...shape, name: z.enum(REPORT_NAMES).default('administration') });

const Answer = z.object({
  title: z.string(),
  since: isoTime,
  until: isoTime,
  statement: z.string().describe("the report's SQL statement, for the command sql"),
  rows: z
    .array(z.record(z.string(), z.string().nullable()))
    .describe(`at most ${MOST_ROWS} rows, keyed by the report's headings`),
});

type Asked = z.output<typeof query>;

interface ReportsOptions {
  readonly db: Db;
  readonly schedules: () => readonly ReportSchedule[];
}

const scheduleSchema = z
  .object({
    name: z.string(),
    report: z.enum(REPORT_NAMES),
    every: z.enum(PERIODS),
    time_zone: z.string(),
    destination: z.string(),
    next_since: isoTime.nullable().describe('start of the period of the next report'),
    last_sent_at: isoTime.nullable(),
    failed_attempts: z.int(),
    last_error: z.string().nullable(),
  })
  .meta({ id: 'ReportSchedule' });

/** Questions that auditors ask each month. */
export function reportsArea({ db, schedules }: ReportsOptions): Area {
  async function answer(
    report: Report,
    values: Asked,
    { scope, operator }: Pick<Visitor, 'scope' | 'operator'>,
    mostRows = MOST_ROWS,
  ) {
    const range: ReportRange = { ...rangeOf(values), scope, user: values.user };
    const { since, until } = range;
    const isAnswerable = report.isOfPerson !== true || values.user !== undefined;
    if (report.isOfPerson === true && values.user !== undefined) {
      const details = { since, until };
      await recordEnded(db, { operator, action: 'timeline.read', subject: values.user, details });
    }
    const rows = isAnswerable ? await readReport(db, report, range, mostRows) : [];
    return { range, rows, statement: report.statement(range).trim() };
  }
  /** The days of a person are not the days before. */
  async function answerBefore(report: Report, range: ReportRange) {
    if (report.chart === undefined || report.isOfPerson === true) return undefined;
    const before = rangeBefore(range, new Date(), range.zone);
    return { range: before, rows: await readReport(db, report, { ...range, ...before }, MOST_FILE_ROWS) };
  }
  const route = (name: ReportName) => {
    const report = reportOf(name);
    return jsonRoute({
      route: `GET /reports/${name}`,
      ...(report.isOfOperators === true ? READ_OPERATOR_LOG : VIEW),
      summary: `report: ${report.title.toLowerCase()}`,
      description: report.answers,
      input: { query },
      answer: Answer,
      async work({ query: values }, visitor) {
        const { rows, statement, range } = await answer(report, values, visitor);
        return { title: report.title, ...range, statement, rows: [...rows] };
      },
    });
  };
  const csvRoute = (name: ReportName) => {
    const report = reportOf(name);
    return streamRoute({
      route: `GET /reports/${name}/csv`,
      ...EXPORT,
      ...(report.isOfOperators === true && { data: 'whole' }),
      summary: `report as a file: ${report.title.toLowerCase()}`,
      description: `At most ${MOST_FILE_ROWS} rows. The operator log records each file.`,
      input: { query },
      mediaTypes: { 'text/csv': "the report's headings and rows" },
      async work({ query: values }, visitor, response) {
        const { since, until } = rangeOf(values);
        const { operator, source } = visitor;
        const details = { format: 'csv', since, until, user: values.user, source };
        const action = { operator, action: 'events.export', subject: `report ${name}`, details } as const;
        const work = () => answer(report, values, visitor, MOST_FILE_ROWS);
        const { rows } = await recordAction(db, action, work, (done) => ({ rows: done.rows.length }));
        response.attachment(`xiq-sink-${name}-${since.toISOString().slice(0, 10)}.csv`);
        response.type('text/csv').send(BOM + reportCsv(rows));
      },
    });
  };
  const schedulesRoute = jsonRoute({
    route: 'GET /report-schedules',
    // Addresses of receivers may be in an error.
    ...VIEW_WHOLE,
    summary: 'list the scheduled reports and their progress',
    answer: wholeSchema(scheduleSchema),
    async work() {
      const described = await describeSchedules(db, schedules());
      return whole(
        described.map(({ progress, ...schedule }) => ({
          ...schedule,
          next_since: progress?.nextSince ?? null,
          last_sent_at: progress?.sentAt ?? null,
          failed_attempts: progress?.attempts ?? 0,
          last_error: progress?.lastError ?? null,
        })),
      );
    },
  });
  return {
    tag: 'reports',
    routes: [...REPORT_NAMES.map(route), ...REPORT_NAMES.map(csvRoute), schedulesRoute],
    pages: [
      {
        path: '/reports',
        entry: { label: 'Reports', group: 'Investigate', icon: 'reports' },
        ...VIEW,
        async render(request, visitor) {
          const entered = readQuery(pageQuery, queryOf(request));
          const { values } = entered;
          const shown = REPORTS.filter(
            ({ isOfOperators }) => isOfOperators !== true || hasAccess(visitor, READ_OPERATOR_LOG),
          );
          const report = shown.find(({ name }) => name === values.name) ?? reportOf('administration');
          const inZone = { ...values, tz: values.tz ?? zoneOf(request) };
          const answered = await answer(report, inZone, visitor);
          return reportPage({
            ...answered,
            before: await answerBefore(report, answered.range),
            report,
            all: shown,
            entered,
            mayExport: hasAccess(visitor, EXPORT),
            source: report.isOfOperators === true ? undefined : visitor.source,
            schedules: hasAccess(visitor, VIEW_WHOLE) ? await describeSchedules(db, schedules()) : [],
          });
        },
      },
    ],
  };
}

function rangeOf({ month, since, until = new Date(), tz: zone = 'UTC' }: Asked) {
  return since === undefined ? { ...(monthRange(month.month, zone) ?? month), zone } : { since, until, zone };
}
