import type { Command } from '@commander-js/extra-typings';
import { defineCommand } from '../shared/options.ts';
import type { Settings } from '../shared/run-on-store.ts';

export function defineDoctor(program: Command, settings: Settings): void {
  defineCommand(program, 'doctor', 'check the installation and suggest fixes; changes nothing', [
    'xiq-sink doctor',
    'xiq-sink doctor --json | jq "select(.status != \\"ok\\")"',
    'xiq-sink doctor --live > report.txt',
  ])
    .option('--json', 'print one JSON object per line')
    .option('--full', 'recount all stored deliveries; takes minutes on a large database')
    .option(
      '--live',
      "only compare the cloud's API with its documentation; the report contains no personal data",
    )
    .action(async (options) => {
      const { examine } = await import('./doctor.ts');
      // A check that timed out may still have an open connection, which must not delay the exit.
      process.exit(await examine(settings, options));
    });
}
