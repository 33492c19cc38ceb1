import { type Command, Option } from '@commander-js/extra-typings';
import { LOGGED_TYPES } from '../../reconcile/log-kinds.ts';
import { defineCommand, sourceOption, time, TIME_FORMS, withRange, zoneOption } from '../shared/options.ts';
import { FAILED, stopSignal } from '../shared/process.ts';
import { quietLogger, type Settings } from '../shared/run-on-store.ts';

export function defineBackfill(program: Command, settings: Settings): void {
  defineCommand(program, 'backfill', "fetch events from the cloud's logs that no webhook delivered", [
    'xiq-sink backfill --since 24h',
    'xiq-sink backfill --since 2026-01-31 --until 2026-02-01 --types AUDIT_LOG_ALL',
    'xiq-sink backfill --since 7d --dry-run',
  ])
    .requiredOption('--since <time>', `start of the range: ${TIME_FORMS}`, time)
    .option('--until <time>', 'end of the range, exclusive (default: now)', time)
    .addOption(zoneOption())
    .addOption(
      new Option(
        '--types <types...>',
        'message types (default: those that the source subscribes to)',
      ).choices(LOGGED_TYPES),
    )
    .addOption(sourceOption())
    .option('--dry-run', 'only compare; store nothing')
    .option('--json', 'print one JSON object per line')
    .action(async ({ types, source, dryRun, json, ...range }) => {
      const signal = stopSignal();
      const { since = new Date(), until = new Date() } = withRange(range);
      const chosen = { since, until, types, source, isDryRun: dryRun === true };
      const { backfill } = await import('./backfill.ts');
      const context = { config: await settings(), logger: await quietLogger(), signal };
      if (!(await backfill(context, chosen, json === true))) process.exitCode = FAILED;
    });
}
