import { z } from 'zod';
import { monthRange } from '../../parse-time.ts';
import { REPORT_NAMES, type ReportName } from '../../report-names.ts';
import type { Db } from '../../store/database.ts';
import type { Operator } from '../../store/operator-log.ts';
import { readReport, reportOf, REPORTS, type Report, type ReportRange } from '../../store/reports.ts';
import type { Scope } from '../../store/scope.ts';
import { HttpError } from '../../errors.ts';
import { hasAccess, VIEW } from '../access/rule.ts';
import { timeZone } from '../api/moment.ts';
import { jsonRoute, readAsked } from '../api/route.ts';
import type { Area } from '../area.ts';
import { recordLook } from '../people/looks.ts';
import { zoneOf } from '../html/time-zone.ts';
import { reportPage } from './reports-page.ts';

/** More rows than a person reads; the command prints all. */
const MOST_ROWS = 1_000;

const query = z.object({
  month: z
    .string()
    .default(() => new Date().toISOString().slice(0, 'YYYY-MM'.length))
    .describe('a month such as 2026-03'),
  tz: timeZone.optional().describe('time zone of the month and of working hours; UTC unless given'),
  user: z.string().optional(),
});

const asksOfPage = z.object({
  query: query.extend({ name: z.enum(REPORT_NAMES).default('administration') }),
});

const Answer = z.object({
  title: z.string(),
  since: z.string(),
  until: z.string(),
  statement: z.string().describe('the SQL statement of the report, for the command sql'),
  rows: z
    .array(z.record(z.string(), z.string().nullable()))
    .describe(`at most ${MOST_ROWS} rows, by the headings of the report`),
});

/** What a visitor asked for. */
type Asked = z.output<typeof query>;

const OPERATORS = { needs: 'operator-log.read', data: 'whole' } as const;

/** Questions that auditors ask each month. */
export function reportsArea({ db }: { readonly db: Db }): Area {
  async function answer(report: Report, asked: Asked, scope: Scope, operator: Operator) {
    const zone = asked.tz ?? 'UTC';
    const month = monthRange(asked.month, zone);
    if (month === undefined) throw new HttpError(400, 'BAD_REQUEST', 'month must be one such as 2026-03');
    const { since, until } = month;
    const range: ReportRange = { since, until, zone, scope, user: asked.user };
    const isAnswerable = report.isOfPerson !== true || asked.user !== undefined;
    if (report.isOfPerson === true && asked.user !== undefined) {
      await recordLook(db, operator, asked.user, { since, until });
    }
    const rows = isAnswerable ? await readReport(db, report, range, MOST_ROWS) : [];
    return { range, rows, statement: report.statement(range).trim() };
  }
  const route = (name: ReportName) => {
    const report = reportOf(name);
    return jsonRoute({
      method: 'get',
      path: `/reports/${name}`,
      ...(report.isOfOperators === true ? OPERATORS : VIEW),
      tag: 'reports',
      summary: `report: ${report.title.toLowerCase()}`,
      description: report.answers,
      asks: z.object({ query }),
      answer: Answer,
      async work({ query: asked }, { scope, operator }) {
        const { rows, statement, range } = await answer(report, asked, scope, operator);
        const [since, until] = [range.since.toISOString(), range.until.toISOString()];
        return { title: report.title, since, until, statement, rows: [...rows] };
      },
    });
  };
  return {
    navigation: [
      {
        path: '/reports',
        label: 'Reports',
        group: 'Investigate',
        icon: 'M3 14V9M8 14V3M13 14V6',
      },
    ],
    routes: REPORT_NAMES.map(route),
    pages: [
      {
        path: '/reports',
        ...VIEW,
        async render(request, visitor) {
          const asked = readAsked(asksOfPage, request).query;
          const shown = REPORTS.filter(
            ({ isOfOperators }) => isOfOperators !== true || hasAccess(visitor, OPERATORS),
          );
          const report = shown.find(({ name }) => name === asked.name) ?? reportOf('administration');
          const inZone = { ...asked, tz: asked.tz ?? zoneOf(request) };
          const { rows, statement, range } = await answer(report, inZone, visitor.scope, visitor.operator);
          const { month } = asked;
          return reportPage({ report, all: shown, month, range, rows, statement, mostRows: MOST_ROWS });
        },
      },
    ],
  };
}
