import type { Command } from '@commander-js/extra-typings';
import { examples } from '../shared/options.ts';
import { stopSignal } from '../shared/process.ts';
import { quietLogger } from '../shared/run-on-store.ts';
import type { Settings } from '../shared/run-on-store.ts';

/** The commands `backup` and `restore`. */
export function defineBackup(program: Command, settings: Settings): void {
  program
    .command('backup')
    .description('copy the embedded database, the spool and the generated secrets, also while serve runs')
    .argument('<directory>', 'directory to create')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      examples('xiq-sink backup /backup/monday', 'xiq-sink backup --json /mnt/nas/xiq-sink'),
    )
    .action(async (directory, { json = false }) => {
      const { backUp } = await import('./backup.ts');
      await backUp(await settings(), directory, json, await quietLogger(), stopSignal());
    });
  program
    .command('restore')
    .description('create DATA_DIR from a backup, and verify it')
    .argument('<directory>', 'directory that backup created')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      examples('xiq-sink restore /backup/monday', 'DATA_DIR=/srv/restored xiq-sink restore /backup/monday'),
    )
    .action(async (directory, { json = false }) => {
      const { restore } = await import('./restore.ts');
      await restore(await settings(), directory, json, await quietLogger(), stopSignal());
    });
}
