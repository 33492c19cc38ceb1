import { Option } from '@commander-js/extra-typings';
import type { Command } from '@commander-js/extra-typings';
import { onStore } from '../on-store.ts';
import { examples } from '../options.ts';
import type { Settings } from '../settings.ts';

/** The command `sql`. */
export function defineSql(program: Command, settings: Settings): void {
  program
    .command('sql')
    .description('run one SQL statement, as a role that may only read')
    .argument('<statement>', 'in quotation marks')
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples(
        'xiq-sink sql "select occurred_at, user_name, description from audit_log order by 1 desc limit 20"',
        'xiq-sink sql --csv "select * from conservation" > conservation.csv',
        'xiq-sink sql "select * from operator_log order by id desc limit 20"',
      ),
    )
    .action(async (statement, { csv, json }) => {
      const format = csv === true ? 'csv' : json === true ? 'json' : 'table';
      const { printQuery } = await import('./sql.ts');
      await onStore(settings, ({ databaseUrl }) => printQuery(databaseUrl, statement, format));
    });
}
