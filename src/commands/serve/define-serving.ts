import { Option } from '@commander-js/extra-typings';
import type { Command } from '@commander-js/extra-typings';
import { examples } from '../options.ts';
import { print } from '../print.ts';
import { ROLES } from '../../serve/roles.ts';
import type { Settings } from '../settings.ts';

/** The commands `serve` and `migrate`. */
export function defineServing(program: Command, settings: Settings): void {
  program
    .command('serve')
    .description('receive, store and forward deliveries until Ctrl-C')
    .addOption(
      new Option('--role <role>', 'which parts to run in this process')
        .choices(ROLES)
        .default('all' as const),
    )
    .addHelpText(
      'after',
      examples('xiq-sink serve', 'PORT=9000 xiq-sink serve', 'xiq-sink serve --role forward'),
    )
    .action(async ({ role }) => {
      const { serveUntilSignal } = await import('./serve-until-signal.ts');
      await serveUntilSignal(await settings(), role);
    });

  program
    .command('migrate')
    .description('create the database or update its tables, then exit')
    .addHelpText(
      'after',
      examples('xiq-sink migrate', 'DATABASE_URL=postgresql://db.example/xiq xiq-sink migrate'),
    )
    .action(async () => {
      const config = await settings();
      const { prepareStore } = await import('../../serve/open-store.ts');
      const { quietLogger } = await import('../quiet-logger.ts');
      const applied = await prepareStore(config, quietLogger());
      print(applied.length === 0 ? 'up to date' : `applied: ${applied.join(', ')}`);
    });
}
