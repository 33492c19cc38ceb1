import { Option, type Command } from '@commander-js/extra-typings';
import { MESSAGE_TYPES } from '../../events/domain.ts';
import { defineCommand, sourceOption, time, TIME_FORMS, withRange, zoneOption } from '../shared/options.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineCoverage(program: Command, settings: Settings): void {
  defineCommand(program, 'coverage', 'show which periods are provably complete', [
    'xiq-sink coverage',
    'xiq-sink coverage --since 30d --types AUDIT_LOG_ALL',
    'xiq-sink coverage --since 2026-01-01 --until 2026-02-01 --json',
  ])
    .addOption(sourceOption())
    .addOption(new Option('--types <types...>', 'message types').choices(MESSAGE_TYPES))
    .option('--since <time>', `start of the range: ${TIME_FORMS}`, time, '7d')
    .option(
      '--until <time>',
      'end of the range, exclusive; a quarter of an hour is proven about 8 hours after its end',
      time,
      '9h',
    )
    .addOption(zoneOption())
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      '\nExits with 1 if a quarter of an hour in the range is pending, not comparable or\nunrecoverable.',
    )
    .action(async ({ types, json, ...options }) => {
      const { since = new Date(), until = new Date(), source } = withRange(options);
      const { printCoverage } = await import('./print-coverage.ts');
      await runOnStore(settings, ({ db }) =>
        printCoverage(db, { since, until, source, messageTypes: types }, json === true),
      );
    });
}
