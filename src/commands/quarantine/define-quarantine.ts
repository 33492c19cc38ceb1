import { Option } from '@commander-js/extra-typings';
import type { Command } from '@commander-js/extra-typings';
import { QUARANTINE_STATES } from '../../store/quarantine-state.ts';
import { FAILED } from '../exit-codes.ts';
import { onStore } from '../on-store.ts';
import { examples, time, typeOption, wholeNumber, withRange, zoneOption } from '../options.ts';
import type { Settings } from '../settings.ts';
import { stopSignal } from '../stop-signal.ts';

/** The commands `quarantine list|show|replay|discard`. */
export function defineQuarantine(program: Command, settings: Settings): void {
  const quarantine = program
    .command('quarantine')
    .description('what could not be read or stored: look at it, replay it, or discard it');

  quarantineCommand('list', 'what lies in quarantine, newest first')
    .addOption(
      new Option('--state <state>', 'what became of it').choices(QUARANTINE_STATES).default('open' as const),
    )
    .option('--limit <number>', 'how many at most', wholeNumber, '50')
    .option('--json', 'print one JSON object a line')
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
      const { printQuarantine } = await import('./quarantine.ts');
      await onStore(settings, ({ db }) =>
        printQuarantine(db, matching, { state, limit: Number(limit) }, json === true),
      );
    });

  quarantine
    .command('show')
    .description('all about one, and its bytes: as text, else in hexadecimal digits')
    .argument('<id>', 'as list shows it')
    .addOption(new Option('--raw', 'write its bytes as they came, and nothing else').conflicts('json'))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples('xiq-sink quarantine show ID', 'xiq-sink quarantine show ID --raw | gunzip'),
    )
    .action(async (id, { raw, json }) => {
      const format = raw === true ? 'raw' : json === true ? 'json' : 'text';
      const { printQuarantined } = await import('./quarantine.ts');
      await onStore(settings, ({ db }) => printQuarantined(db, id, format));
    });

  quarantineCommand('replay', 'read and store again what is open, as a new delivery is')
    .argument('[ids...]', 'as list shows them; without, what the options say')
    .option('--all', 'all that is open')
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
      const { replayChosen } = await import('./quarantine-replay.ts');
      const { quietLogger } = await import('../quiet-logger.ts');
      await onStore(settings, async ({ db }, { maxBodyBytes }) => {
        const context = { db, logger: quietLogger(), maxBodyBytes, giveUp };
        if (!(await replayChosen(context, chosen))) process.exitCode = FAILED;
      });
    });

  quarantineCommand('discard', 'empty the bytes of what is open; what it was stays written down')
    .argument('[ids...]', 'as list shows them; without, what the options say')
    .option('--all', 'all that is open')
    .option('--yes', 'do it; without, only show what would be discarded')
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
      const { discardChosen } = await import('./quarantine-discard.ts');
      await onStore(settings, ({ db }) => discardChosen(db, chosen, yes === true, signal));
    });

  /** A command about quarantine, with the conditions that most of them take. */
  function quarantineCommand(name: string, description: string) {
    return quarantine
      .command(name)
      .description(description)
      .addOption(typeOption())
      .option('--source <name>', 'source, exactly')
      .option('--reason <text>', 'any part of the reason')
      .option(
        '--since <time>',
        'received from this time on: 2026-01-31, 2026-01-31T08:00, or 90m, 12h, 7d ago',
        time,
      )
      .option('--until <time>', 'received before this time', time)
      .addOption(zoneOption());
  }
}
