import type { Command } from '@commander-js/extra-typings';
import { defineCommand } from '../shared/options.ts';
import { stopSignal } from '../shared/process.ts';
import { quietLogger, type Settings } from '../shared/run-on-store.ts';

export function defineBackup(program: Command, settings: Settings): void {
  defineCommand(
    program,
    'backup',
    'back up the embedded database, the spool and the generated webhook secret, even while serve runs',
    ['xiq-sink backup /backup/monday', 'xiq-sink backup --json /mnt/nas/xiq-sink'],
  )
    .argument('<directory>', 'directory to create')
    .option('--json', 'print the result as JSON')
    .action(async (directory, { json = false }) => {
      const { backUp } = await import('./backup.ts');
      await backUp(await settings(), directory, json, await quietLogger(), stopSignal());
    });
  defineCommand(program, 'restore', 'create DATA_DIR from a backup, and verify it', [
    'xiq-sink restore /backup/monday',
    'DATA_DIR=/srv/restored xiq-sink restore /backup/monday',
  ])
    .argument('<directory>', 'directory that backup created')
    .option('--json', 'print the result as JSON')
    .action(async (directory, { json = false }) => {
      const { restore } = await import('./restore.ts');
      await restore(await settings(), directory, json, await quietLogger(), stopSignal());
    });
}
