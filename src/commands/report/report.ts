import { UsageError } from '../../lib/errors.ts';
import type { ReportName } from '../../store/reports/report-names.ts';
import type { CommandStore } from '../../serve/open-store.ts';
import { recordEnded } from '../../store/access/operator-log.ts';
import { describeReader } from '../../store/server/read-only-query.ts';
import { reportOf, REPORTS } from '../../store/reports/reports.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { print, wrapBeside } from '../shared/output.ts';
import { commandOperator } from '../shared/process.ts';
import { printResult, recordedQuery } from '../sql/print-result.ts';
import { DAY_MS } from '../../lib/clock.ts';

/** What to report on; without a beginning, the 30 days before the end. */
interface Asked {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly zone: string;
  readonly user: string | undefined;
  readonly source: string | undefined;
}

const USUAL_DAYS = 30;

export function listReports(): void {
  const width = Math.max(...REPORTS.map(({ name }) => name.length)) + 2;
  for (const { name, answers } of REPORTS) {
    print(`${name.padEnd(width)}${wrapBeside(' '.repeat(width), answers)}`);
  }
}

/** Prints a report, or its SQL statement. The operator log has each report that was read. */
export async function runReport(
  { db, archive, databaseUrl, readerUrl }: Omit<CommandStore, 'events' | 'migrationUrl'>,
  name: ReportName,
  { until = new Date(), since = new Date(until.getTime() - USUAL_DAYS * DAY_MS), zone, user, source }: Asked,
  format: 'table' | 'csv' | 'json' | 'sql',
  bom = false,
): Promise<void> {
  const report = reportOf(name);
  if (report.isOfPerson === true && user === undefined) {
    throw new UsageError(`The report "${name}" is about one person: specify the person with --user.`);
  }
  const scope = source === undefined ? ALL_SOURCES : [source];
  const statement = report.statement({ since, until, zone, scope, user }).trim();
  if (format === 'sql') return print(statement);
  if (readerUrl === undefined) throw new UsageError(describeReader(databaseUrl));
  if (user !== undefined) {
    const details = { since, until, report: name };
    await recordEnded(db, { operator: commandOperator(), action: 'timeline.read', subject: user, details });
  }
  await printResult(
    await recordedQuery({ db, archive }, readerUrl, statement, `report ${name}`),
    format,
    bom,
  );
}
