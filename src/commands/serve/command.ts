import { Option, type Command } from '@commander-js/extra-typings';
import { ROLES } from '../../serve/roles.ts';
import { defineCommand } from '../shared/options.ts';
import type { Settings } from '../shared/run-on-store.ts';

/** The command `serve`. A reload reads the settings with `reread`. */
export function defineServe(program: Command, settings: Settings, reread: Settings): void {
  defineCommand(program, 'serve', 'receive, store and forward events until Ctrl-C', [
    'xiq-sink serve',
    'PORT=9000 xiq-sink serve',
    'xiq-sink serve --role forward',
  ])
    .addOption(
      new Option('--role <role>', 'part of the work that this process does')
        .choices(ROLES)
        .default('all' as const),
    )
    .action(async ({ role }) => {
      const { serveUntilSignal } = await import('./serve-until-signal.ts');
      await serveUntilSignal(await settings(), role, reread);
    });
}
