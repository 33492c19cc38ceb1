import { Option } from '@commander-js/extra-typings';
import type { Command } from '@commander-js/extra-typings';
import { onStore } from '../on-store.ts';
import { examples } from '../options.ts';
import { ROLES } from '../../serve/roles.ts';
import type { Settings } from '../settings.ts';

/** The commands `serve` and `migrate`. */
export function defineServing(program: Command, settings: Settings): void {
  program
    .command('serve')
    .description('receive deliveries, store and forward them, until Ctrl-C')
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
    .description('bring the database up to date, and stop')
    .addHelpText(
      'after',
      examples('xiq-sink migrate', 'DATABASE_URL=postgresql://db.example/xiq xiq-sink migrate'),
    )
    .action(async () => {
      await onStore(settings, async (_store, _config, applied) => {
        process.stdout.write(applied.length === 0 ? 'up to date\n' : `applied: ${applied.join(', ')}\n`);
      });
    });
}
