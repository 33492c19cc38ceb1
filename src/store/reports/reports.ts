import { sql } from 'kysely';
import { escapeIdentifier, escapeLiteral } from 'pg';
import { z } from 'zod';
import { csvLine, guardFormula } from '../../lib/text/csv.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import type { ReportName } from './report-names.ts';
import type { Db } from '../server/database.ts';
import { ALL_SOURCES, type Scope } from '../server/scope.ts';
import { allRows } from '../server/statement.ts';

export interface ReportRange extends WholeRange {
  /** IANA name of the time zone of days and hours. */
  readonly zone: string;
  readonly scope: Scope;
  readonly user?: string | undefined;
}

/** The values of a row by the report's headings, as text. */
export type ReportRow = Readonly<Record<string, string | null>>;

/** A question that people ask again and again, and the SQL that answers it. */
export interface Report {
  readonly name: ReportName;
  readonly title: string;
  readonly answers: string;
  readonly isOfPerson?: true;
  /** Whether it shows what people did in this program, for all sources. */
  readonly isOfOperators?: true;
  /** One statement that the command `sql` runs as it is. Its columns have the headings of the report. */
  readonly statement: (range: ReportRange) => string;
  /** The search for the events of a row; undefined if the grammar of searches cannot name them. */
  readonly searchOf?: (row: ReportRow) => string | undefined;
  /** What a chart of the rows shows; undefined if they are no figures. */
  readonly chart?: ReportChart;
}

export interface ReportChart {
  /** The headings that name a bar. */
  readonly labels: readonly string[];
  readonly value: string;
  /** The heading of a part of it that needs attention. */
  readonly marked?: string;
}

/** Working hours: from seven to seven, Monday to Friday. */
const IS_OFF_HOURS = `(extract(isodow from local) in (6, 7) or local::time < '07:00' or local::time >= '19:00')`;

/** What an audit record says was done. The codes are those of the specification ("Audit-log delivery"). */
const ACTION = `case code when 10001 then 'Login' when 10002 then 'Logout' when 40001 then 'Private key created'
    when 40003 then 'Private key deleted'
    else case when config is not null or cardinality(host_names) > 0 or cardinality(device_ids) > 0
      then 'Configuration changed' else 'Audit event' end end`;

const time = (expression: string) => `to_char(${expression}, 'YYYY-MM-DD HH24:MI:SS')`;

/** The rows of a view in the range, with their local time. */
const rowsOf = (view: string, range: ReportRange) => `(
    select *, occurred_at at time zone ${escapeLiteral(range.zone)} as local from ${escapeIdentifier(view)}
    where ${inRange('occurred_at', range)}${sourcesOf(range.scope)}
  ) as record`;

const inRange = (column: string, { since, until }: ReportRange) =>
  `${column} >= ${escapeLiteral(since.toISOString())} and ${column} < ${escapeLiteral(until.toISOString())}`;

function sourcesOf(scope: Scope): string {
  if (scope === ALL_SOURCES) return '';
  return scope.length === 0 ? ' and false' : ` and source in (${scope.map(escapeLiteral).join(', ')})`;
}

/** A search for audit events by a value; undefined if a search cannot have it. */
const searchFor = (key: 'user' | 'device', value: string | null | undefined, ...others: readonly string[]) =>
  value === null || value === undefined || /["\\*,]/.test(value)
    ? undefined
    : ['type:AUDIT_LOG_ALL', `${key}:"${value}"`, ...others].join(' ');

export const REPORTS: readonly Report[] = [
  {
    name: 'administration',
    title: 'Activity of administrators',
    answers: 'Actions of each administrator, by kind and audit code.',
    statement: (range) => `
select min(user_name) as "Administrator", code as "Code", min(${ACTION}) as "Action", count(*) as "Records",
  ${time('min(local)')} as "First", ${time('max(local)')} as "Last"
from ${rowsOf('audit_log', range)}
group by fold_name(user_name), code order by 1, 4 desc, 2`,
    chart: { labels: ['Administrator', 'Action'], value: 'Records' },
    searchOf: ({ Administrator: user, Code: code }) =>
      code === null ? undefined : searchFor('user', user, `code:${code}`),
  },
  {
    name: 'logins',
    title: 'Logins of administrators',
    answers:
      'How often each administrator logged in, and how often outside working hours: on weekends, or not between 7:00 and 19:00.',
    statement: (range) => `
select min(user_name) as "Administrator", count(*) as "Logins", count(*) filter (where ${IS_OFF_HOURS}) as "Off hours",
  ${time('min(local)')} as "First", ${time('max(local)')} as "Last"
from ${rowsOf('audit_log', range)}
where code = 10001 group by fold_name(user_name) order by 3 desc, 2 desc, 1`,
    chart: { labels: ['Administrator'], value: 'Logins', marked: 'Off hours' },
    searchOf: ({ Administrator: user }) => searchFor('user', user, 'code:10001'),
  },
  {
    name: 'categories',
    title: 'Changes by category',
    answers: "Audit records of each of the cloud's categories, without logins and logouts.",
    statement: (range) => `
select coalesce(category::text, 'none') as "Category", count(*) as "Records",
  count(distinct fold_name(user_name)) as "People", ${time('min(local)')} as "First", ${time('max(local)')} as "Last"
from ${rowsOf('audit_log', range)}
where code is distinct from 10001 and code is distinct from 10002 group by category order by 2 desc, 1`,
    chart: { labels: ['Category'], value: 'Records' },
  },
  {
    name: 'changes',
    title: 'Changes by device',
    answers: 'Devices that audit records name, with the number of records and of people.',
    statement: (range) => `
select min(device) as "Device", count(distinct event_id) as "Records", count(distinct fold_name(user_name)) as "People", ${time('max(local)')} as "Last"
from ${rowsOf('audit_log', range)}, unnest(host_names) as device
group by lower(device) order by 2 desc, 1`,
    chart: { labels: ['Device'], value: 'Records' },
    searchOf: ({ Device: device }) => searchFor('device', device),
  },
  {
    name: 'keys',
    title: 'Private keys created and deleted',
    answers: 'People who created and deleted private keys (PPSK), and when last.',
    statement: (range) => `
select min(user_name) as "Administrator", count(*) filter (where code = 40001) as "Created",
  count(*) filter (where code = 40003) as "Deleted", ${time('max(local)')} as "Last"
from ${rowsOf('audit_log', range)}
where code in (40001, 40003) group by fold_name(user_name) order by 2 desc, 3 desc, 1`,
    chart: { labels: ['Administrator'], value: 'Created' },
    searchOf: ({ Administrator: user }) => searchFor('user', user, 'code:40001,40003'),
  },
  {
    name: 'disclosures',
    title: 'Exports and erasures',
    answers:
      'Who exported, proved, erased or queried stored data with this program, and which reports it sent.',
    isOfOperators: true,
    statement: (range) => `
select ${time(`began_at at time zone ${escapeLiteral(range.zone)}`)} as "Time", operator as "Person", action as "Action",
  subject as "Subject", outcome as "Outcome", coalesce(result ->> 'rows', result ->> 'events') as "Rows",
  result ->> 'sha256' as "SHA-256"
from operator_log
where action in ('events.export', 'proof.export', 'events.erase', 'certificate.make', 'sql.query', 'report.send', 'timeline.read', 'assistant.ask')
  and ${inRange('began_at', range)}
order by id`,
  },
  {
    name: 'access',
    title: 'Network access of a person',
    answers:
      'When, on which networks and with which clients a person logged in to the network, with the replies.',
    isOfPerson: true,
    statement: (range) => `
select to_char(local, 'YYYY-MM-DD') as "Day", ssid as "Network", client_mac as "Client", reply as "Reply",
  count(*) as "Logins", ${time('min(local)')} as "First", ${time('max(local)')} as "Last"
from ${rowsOf('authentication_log', range)}
where fold_name(username) = fold_name(${escapeLiteral(range.user ?? '')})
group by 1, 2, 3, 4 order by 1, 6, 2, 3, 4`,
    chart: { labels: ['Day', 'Network', 'Reply'], value: 'Logins' },
  },
];

export function reportOf(name: ReportName): Report {
  const report = REPORTS.find((one) => one.name === name);
  if (report === undefined) throw new TypeError(`there is no report ${name}`);
  return report;
}

const Rows = z.array(z.record(z.string(), z.union([z.string(), z.number(), z.bigint(), z.null()])));

/** Answers a report, with at most `limit` rows. */
export async function readReport(db: Db, report: Report, range: ReportRange, limit: number) {
  const rows = await allRows(db)`
    select * from (${sql.raw(report.statement(range))}) as report limit ${limit}`;
  return Rows.parse(rows).map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([heading, value]) => [heading, value === null ? null : String(value)]),
    ),
  );
}

export const MOST_FILE_ROWS = 50_000;

/** The rows as CSV; without rows, a line that says so. */
export function reportCsv(rows: readonly ReportRow[]): string {
  const [first] = rows;
  if (first === undefined) return csvLine(['no rows']);
  const headings = Object.keys(first);
  const guarded = (cell: string | null | undefined) =>
    cell === null || cell === undefined ? null : guardFormula(cell);
  const lines = rows.map((row) => csvLine(headings.map((heading) => guarded(row[heading]))));
  return [csvLine(headings), ...lines].join('');
}
