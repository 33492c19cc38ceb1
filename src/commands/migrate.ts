import type { Command } from '@commander-js/extra-typings';
import { examples } from './shared/options.ts';
import { runOnStore } from './shared/run-on-store.ts';
import type { Settings } from './shared/run-on-store.ts';

/** The command `migrate`. */
export function defineMigrate(program: Command, settings: Settings): void {
  program
    .command('migrate')
    .description('create or update the tables of the database, then exit')
    .addHelpText(
      'after',
      examples('xiq-sink migrate', 'DATABASE_URL=postgresql://db.example/xiq xiq-sink migrate'),
    )
    .action(() =>
      runOnStore(settings, async (_store, _config, applied) => {
        process.stdout.write(applied.length === 0 ? 'up to date\n' : `applied: ${applied.join(', ')}\n`);
      }),
    );
}
