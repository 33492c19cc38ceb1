import type { Command } from '@commander-js/extra-typings';
import { examples } from '../options.ts';
import type { Settings } from '../settings.ts';

/** The command `doctor`. */
export function defineDoctor(program: Command, settings: Settings): void {
  program
    .command('doctor')
    .description('check everything that this program depends on, and say what to do; changes nothing')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      examples('xiq-sink doctor', 'xiq-sink doctor --json | jq "select(.status != \\"ok\\")"'),
    )
    .action(async ({ json }) => {
      const { examine } = await import('./doctor.ts');
      // A check that was given up may still hold a connection: that must not keep the person waiting.
      process.exit(await examine(settings, json === true));
    });
}
