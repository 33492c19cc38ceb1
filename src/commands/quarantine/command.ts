import { QUARANTINE_STATES } from '../../store/server/schema/delivery-tables.ts';
import { Option, type Command } from '@commander-js/extra-typings';
import {
  atLeastOne,
  defineCommand,
  time,
  TIME_FORMS,
  typeOption,
  withRange,
  zoneOption,
} from '../shared/options.ts';
import { stopSignal } from '../shared/process.ts';
import { quietLogger, runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineQuarantine(program: Command, settings: Settings): void {
  const quarantine = program
    .command('quarantine')
    .description('list, show, replay and discard quarantined items');

  quarantineCommand('list', 'list quarantined items, newest first', [
    'xiq-sink quarantine list',
    'xiq-sink quarantine list --reason "not JSON" --since 7d',
    'xiq-sink quarantine list --state all --json',
  ])
    .addOption(
      new Option('--state <state>', 'state of the items').choices(QUARANTINE_STATES).default('open' as const),
    )
    .option('--limit <number>', 'maximum number of items', atLeastOne, '50')
    .option('--json', 'print one JSON object per line')
    .action(async ({ type, state, limit, json, ...filter }) => {
      const matching = { ...withRange(filter), messageType: type };
      const { printQuarantine } = await import('./list.ts');
      await runOnStore(settings, ({ db }) =>
        printQuarantine(db, matching, { state, limit: Number(limit) }, json === true),
      );
    });

  defineCommand(quarantine, 'show', 'show one item and its content (as text, or as hex)', [
    'xiq-sink quarantine show ID',
    'xiq-sink quarantine show ID --raw | gunzip',
  ])
    .argument('<id>', 'item id, as printed by list')
    .addOption(new Option('--raw', 'print the original bytes and nothing else').conflicts('json'))
    .option('--json', 'print JSON')
    .action(async (id, { raw, json }) => {
      const format = raw === true ? 'raw' : json === true ? 'json' : 'text';
      const { printQuarantined } = await import('./list.ts');
      await runOnStore(settings, ({ db }) => printQuarantined(db, id, format));
    });

  quarantineCommand('replay', 'process open items again', [
    'xiq-sink quarantine replay ID',
    'xiq-sink quarantine replay --type AUDIT_LOG_ALL --reason "violates check constraint"',
    'xiq-sink quarantine replay --all',
  ])
    .argument('[ids...]', 'item ids, as printed by list; without ids, the options choose the items')
    .option('--all', 'all open items')
    .action(async (ids, { type, all, ...filter }) => {
      const giveUp = stopSignal();
      const chosen = {
        ids: ids.map(lowerCase),
        filter: { ...withRange(filter), messageType: type },
        all: all === true,
      };
      const { replayChosen } = await import('./resolve.ts');
      const logger = await quietLogger();
      await runOnStore(settings, ({ db }, { maxBodyBytes }) =>
        replayChosen({ db, logger, maxBodyBytes, giveUp }, chosen),
      );
    });

  quarantineCommand('discard', 'delete the content of open items; the record of each item stays', [
    'xiq-sink quarantine discard ID --yes',
    'xiq-sink quarantine discard --source branch --until 90d',
  ])
    .argument('[ids...]', 'item ids, as printed by list; without ids, the options choose the items')
    .option('--all', 'all open items')
    .option('--yes', 'discard them; without this option, only show what would be discarded')
    .action(async (ids, { type, all, yes, ...filter }) => {
      const signal = stopSignal();
      const chosen = {
        ids: ids.map(lowerCase),
        filter: { ...withRange(filter), messageType: type },
        all: all === true,
      };
      const { discardChosen } = await import('./resolve.ts');
      await runOnStore(settings, ({ db }) => discardChosen(db, chosen, yes === true, signal));
    });

  function quarantineCommand(name: string, description: string, lines: readonly string[]) {
    return defineCommand(quarantine, name, description, lines)
      .addOption(typeOption())
      .option('--source <name>', 'exact source name')
      .option('--reason <text>', 'text in the reason')
      .option('--since <time>', `start of the range of arrival: ${TIME_FORMS}`, time)
      .option('--until <time>', 'end of the range of arrival, exclusive', time)
      .addOption(zoneOption());
  }
}

/** As Postgres prints ids, with which they are compared. */
const lowerCase = (id: string) => id.toLowerCase();
