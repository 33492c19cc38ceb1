import { Option } from '@commander-js/extra-typings';
import type { Command } from '@commander-js/extra-typings';
import { QUARANTINE_STATES } from '../../store/search-quarantine.ts';
import {
  examples,
  time,
  TIME_FORMS,
  typeOption,
  wholeNumber,
  withRange,
  zoneOption,
} from '../shared/options.ts';
import { FAILED, stopSignal } from '../shared/process.ts';
import { quietLogger, runOnStore } from '../shared/run-on-store.ts';
import type { Settings } from '../shared/run-on-store.ts';

/** The commands `quarantine list|show|replay|discard`. */
export function defineQuarantine(program: Command, settings: Settings): void {
  const quarantine = program
    .command('quarantine')
    .description('list, show, replay and discard quarantined items');

  quarantineCommand('list', 'list quarantined items, newest first')
    .addOption(
      new Option('--state <state>', 'state of the items').choices(QUARANTINE_STATES).default('open' as const),
    )
    .option('--limit <number>', 'maximum number of items', wholeNumber, '50')
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      examples(
        'xiq-sink quarantine list',
        'xiq-sink quarantine list --reason "not JSON" --since 7d',
        'xiq-sink quarantine list --state all --json',
      ),
    )
    .action(async ({ type, state, limit, json, ...filter }) => {
      const matching = { ...withRange(filter), messageType: type };
      const { printQuarantine } = await import('./list.ts');
      await runOnStore(settings, ({ db }) =>
        printQuarantine(db, matching, { state, limit: Number(limit) }, json === true),
      );
    });

  quarantine
    .command('show')
    .description('show one item and its content (as text, or as hex)')
    .argument('<id>', 'item id, as printed by list')
    .addOption(new Option('--raw', 'print the original bytes and nothing else').conflicts('json'))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples('xiq-sink quarantine show ID', 'xiq-sink quarantine show ID --raw | gunzip'),
    )
    .action(async (id, { raw, json }) => {
      const format = raw === true ? 'raw' : json === true ? 'json' : 'text';
      const { printQuarantined } = await import('./list.ts');
      await runOnStore(settings, ({ db }) => printQuarantined(db, id, format));
    });

  quarantineCommand('replay', 'process open items again')
    .argument('[ids...]', 'item ids, as printed by list; without ids, the options choose the items')
    .option('--all', 'all open items')
    .addHelpText(
      'after',
      examples(
        'xiq-sink quarantine replay ID',
        'xiq-sink quarantine replay --type AUDIT_LOG_ALL --reason "violates check constraint"',
        'xiq-sink quarantine replay --all',
      ),
    )
    .action(async (ids, { type, all, ...filter }) => {
      const giveUp = stopSignal();
      const chosen = { ids, filter: { ...withRange(filter), messageType: type }, all: all === true };
      const { replayChosen } = await import('./replay.ts');
      const logger = await quietLogger();
      await runOnStore(settings, async ({ db }, { maxBodyBytes }) => {
        if (!(await replayChosen({ db, logger, maxBodyBytes, giveUp }, chosen))) process.exitCode = FAILED;
      });
    });

  quarantineCommand('discard', 'delete the content of open items; the record of them stays')
    .argument('[ids...]', 'item ids, as printed by list; without ids, the options choose the items')
    .option('--all', 'all open items')
    .option('--yes', 'discard them; without this option, only show what would be discarded')
    .addHelpText(
      'after',
      examples(
        'xiq-sink quarantine discard ID --yes',
        'xiq-sink quarantine discard --source branch --until 90d',
      ),
    )
    .action(async (ids, { type, all, yes, ...filter }) => {
      const signal = stopSignal();
      const chosen = { ids, filter: { ...withRange(filter), messageType: type }, all: all === true };
      const { discardChosen } = await import('./discard.ts');
      await runOnStore(settings, ({ db }) => discardChosen(db, chosen, yes === true, signal));
    });

  /** A command on quarantined items, with the conditions that most of them accept. */
  function quarantineCommand(name: string, description: string) {
    return quarantine
      .command(name)
      .description(description)
      .addOption(typeOption())
      .option('--source <name>', 'exact source name')
      .option('--reason <text>', 'text that the reason contains')
      .option('--since <time>', `received from this time on: ${TIME_FORMS}`, time)
      .option('--until <time>', 'received before this time', time)
      .addOption(zoneOption());
  }
}
