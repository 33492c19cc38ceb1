import { Option, type Command } from '@commander-js/extra-typings';
import { UsageError } from '../../lib/errors.ts';
import { defineCommand } from '../shared/options.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

/** The command `sql`. The operator log records each statement and the number of rows that it returned. */
export function defineSql(program: Command, settings: Settings): void {
  defineCommand(program, 'sql', 'run one SQL statement with read-only permissions', [
    'xiq-sink sql "select occurred_at, user_name, description from audit_log order by 1 desc limit 20"',
    'xiq-sink sql --csv "select * from conservation" > conservation.csv',
    'xiq-sink sql "select * from operator_log order by id desc limit 20"',
  ])
    .argument('<statement>', 'the statement, in quotation marks')
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .option('--bom', 'begin CSV with a byte order mark, for spreadsheets')
    .option('--json', 'print a JSON array of objects')
    .action(async (statement, { csv, bom, json }) => {
      const format = csv === true ? 'csv' : json === true ? 'json' : 'table';
      const { printResult, recordedQuery } = await import('./print-result.ts');
      const { describeReader } = await import('../../store/server/read-only-query.ts');
      await runOnStore(settings, async (store) => {
        const { databaseUrl, readerUrl } = store;
        if (readerUrl === undefined) throw new UsageError(describeReader(databaseUrl));
        await printResult(await recordedQuery(store, readerUrl, statement), format, bom);
      });
    });
}
