import type { Command } from '@commander-js/extra-typings';
import { defineCommand, time, TIME_FORMS, withRange, zoneOption } from '../shared/options.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineExportProof(program: Command, settings: Settings): void {
  defineCommand(program, 'export-proof', 'export events with everything needed to verify them elsewhere', [
    'xiq-sink export-proof --since 2026-10-01 --until 2026-11-01 ./proof-2026-10',
    'xiq-sink export-proof ./proof',
  ])
    .argument('<directory>', 'new or empty directory to write to')
    .option('--since <time>', `start of the range, by the time of arrival: ${TIME_FORMS}`, time)
    .option('--until <time>', 'end of the range, exclusive (default: now)', time)
    .option('--with-findings', 'also export rows that differ from the seal')
    .addOption(zoneOption())
    .addHelpText(
      'after',
      '\nWrites rows, salts, tiles, checkpoints and time-stamps.\nTo verify them without a database: xiq-sink verify DIRECTORY',
    )
    .action(async (directory, options) => {
      const range = withRange(options);
      const { exportRange } = await import('./export-proof.ts');
      await runOnStore(settings, ({ events }, config) =>
        exportRange(events, config, directory, { ...range, withFindings: options.withFindings === true }),
      );
    });
}
