import path from 'node:path';
import { Option, type Command } from '@commander-js/extra-typings';
import { ROLES } from '../../config/roles.ts';
import { defineCommand } from '../shared/options.ts';
import type { Settings } from '../shared/run-on-store.ts';
import type { Environment } from '../../config/references.ts';

/** The command `serve`. A reload reads the settings with `reread`. */
export function defineServe(program: Command, env: Environment, settings: Settings, reread: Settings): void {
  defineCommand(program, 'serve', 'receive, store and forward events until Ctrl-C', [
    'xiq-sink serve',
    'PORT=9000 xiq-sink serve',
    'xiq-sink serve --role forward',
  ])
    .addOption(new Option('--role <role>', 'role of this process').choices(ROLES).default('all' as const))
    .action(async ({ role }) => {
      // What follows loads for 2 s, and this is what a first start stumbles over most.
      const { DEFAULT_DATA_DIR, openDataDirectory } = await import('../../lib/files/data-directory.ts');
      await openDataDirectory(path.resolve(env['DATA_DIR'] || DEFAULT_DATA_DIR));
      const { serveUntilSignal } = await import('./serve-until-signal.ts');
      await serveUntilSignal(await settings(), role, reread);
    });
}
