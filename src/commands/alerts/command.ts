import type { Command } from '@commander-js/extra-typings';
import {
  atLeastOne,
  defineCommand,
  sourceOption,
  time,
  TIME_FORMS,
  withRange,
  zoneOption,
} from '../shared/options.ts';
import { stopSignal } from '../shared/process.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineAlerts(program: Command, settings: Settings): void {
  const alerts = program.command('alerts').description('list alerts, and test alert rules');

  defineCommand(alerts, 'list', 'list raised alerts, newest first', [
    'xiq-sink alerts list',
    'xiq-sink alerts list --since 7d --rule logins-failed --json',
  ])
    .addOption(sourceOption())
    .option('--rule <name>', 'only alerts of this rule')
    .option('--since <time>', `start of the range: ${TIME_FORMS}`, time, '30d')
    .option('--until <time>', 'end of the range, exclusive', time)
    .addOption(zoneOption())
    .option('--limit <number>', 'maximum number of alerts', atLeastOne, '50')
    .option('--json', 'print one JSON object per line')
    .action(async ({ json, limit, ...options }) => {
      const filter = withRange(options);
      const { printAlerts } = await import('./alerts.ts');
      await runOnStore(settings, ({ db }) =>
        printAlerts(db, { ...filter, limit: Number(limit) }, json === true),
      );
    });

  defineCommand(alerts, 'test', 'show which alerts a rule would have raised for stored events', [
    'xiq-sink alerts test logins-failed --since 90d',
    'xiq-sink alerts test my-rule --since 2026-01-01 --until 2026-04-01 --json',
  ])
    .argument('<rule>', 'a built-in rule (on or off), or one of the settings, the console or a saved search')
    .addOption(sourceOption())
    .option('--since <time>', `start of the range: ${TIME_FORMS}`, time, '30d')
    .option('--until <time>', 'end of the range, exclusive', time)
    .addOption(zoneOption())
    .option('--json', 'print one JSON object per line')
    .action(async (name, { json, ...options }) => {
      const { since = new Date(), until = new Date(), source } = withRange(options);
      const { testRule } = await import('./alerts.ts');
      await runOnStore(settings, ({ events }, { rules }) =>
        testRule(events, rules, name, { since, until, source }, json === true, stopSignal()),
      );
    });
}
