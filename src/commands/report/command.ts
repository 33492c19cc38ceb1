import { Argument, Option, type Command } from '@commander-js/extra-typings';
import { UsageError } from '../../lib/errors.ts';
import { REPORT_NAMES } from '../../store/reports/report-names.ts';
import { monthRange } from '../../lib/text/parse-time.ts';
import { defineCommand, sourceOption, time, TIME_FORMS, withRange, zoneOption } from '../shared/options.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineReport(program: Command, settings: Settings): void {
  defineCommand(program, 'report', 'print a report for auditors: who administered what, who logged in when', [
    'xiq-sink report',
    'xiq-sink report logins --month 2026-03 --tz Europe/Berlin',
    'xiq-sink report access --user ann@example.com --since 7d --csv > ann.csv',
    'xiq-sink report keys --since 2026-01-01 --sql',
  ])
    .addArgument(
      new Argument('[name]', 'the report; without it, the reports are listed').choices(REPORT_NAMES),
    )
    .addOption(new Option('--month <month>', 'a month: 2026-03').conflicts(['since', 'until']))
    .option('--since <time>', `start of the range: ${TIME_FORMS} (default: 30 days ago)`, time)
    .option('--until <time>', 'end of the range, exclusive (default: now)', time)
    .option('--user <name>', 'the person for the report "access"')
    .addOption(sourceOption())
    .addOption(zoneOption())
    .addOption(new Option('--csv', 'print CSV').conflicts(['json', 'sql']))
    .option('--bom', 'begin CSV with a byte order mark, for spreadsheets')
    .addOption(new Option('--json', 'print a JSON array of objects').conflicts('sql'))
    .option('--sql', "print the report's SQL statement instead of running it")
    .addHelpText('after', '\nDocumentation: docs/reports.md.')
    .action(async (name, { month, user, source, csv, bom, json, sql, ...written }) => {
      const { listReports, runReport } = await import('./report.ts');
      if (name === undefined) return listReports();
      const range = month === undefined ? withRange(written) : inMonth(month, written.tz);
      const asked = { ...range, user, source, zone: written.tz };
      const format = sql === true ? 'sql' : csv === true ? 'csv' : json === true ? 'json' : 'table';
      await runOnStore(settings, (store) => runReport(store, name, asked, format, bom));
    });
}

function inMonth(text: string, zone: string) {
  const range = monthRange(text, zone);
  if (range === undefined) throw new UsageError(`--month: "${text}" is not a month such as 2026-03`);
  return range;
}
