import type { Command } from '@commander-js/extra-typings';
import { onStore } from './on-store.ts';
import { examples, macAddress, position, time, typeOption, wholeNumber } from './options.ts';
import type { Settings } from './settings.ts';
import { stopSignal } from './stop-signal.ts';

/** The commands `events search|tail`. */
export function defineEvents(program: Command, settings: Settings): void {
  const events = program.command('events').description('find stored events, or follow them');

  eventsCommand('search', 'events that match, newest first')
    .option('--since <time>', 'from this time on: 2026-01-31, 2026-01-31T08:00Z, or 90m, 12h, 7d ago', time)
    .option('--until <time>', 'before this time', time)
    .option('--limit <number>', 'how many at most', wholeNumber, '50')
    .option('--after <position>', 'go on behind the last event of a page', position)
    .addHelpText(
      'after',
      examples(
        'xiq-sink events search --since 24h --type AUDIT_LOG_ALL',
        'xiq-sink events search --user admin@example.com --code 10001',
        'xiq-sink events search --mac aa:bb:cc:dd:ee:ff --json',
      ),
    )
    .action(async ({ type, limit, after, json, ...filter }) => {
      const { printSearch } = await import('./events.ts');
      await onStore(settings, ({ db }) =>
        printSearch(
          db,
          { ...filter, messageTypes: type && [type] },
          { limit: Number(limit), after },
          json === true,
        ),
      );
    });

  eventsCommand('tail', 'events as they are stored, until Ctrl-C')
    .addHelpText(
      'after',
      examples('xiq-sink events tail --type AUTHENTICATION_LOG_ALL', 'xiq-sink events tail --json | jq .'),
    )
    .action(async ({ type, json, ...filter }) => {
      const signal = stopSignal();
      const { followEvents } = await import('./events.ts');
      await onStore(settings, ({ db }) =>
        followEvents(db, { ...filter, messageTypes: type && [type] }, json === true, signal),
      );
    });

  /** A command about events, with the conditions that all of them take. */
  function eventsCommand(name: string, description: string) {
    return events
      .command(name)
      .description(description)
      .addOption(typeOption())
      .option('--user <name>', 'user name, exactly')
      .option('--code <code>', "the audit record's event code", wholeNumber)
      .option('--mac <address>', 'MAC address of a client or an access point, in any notation', macAddress)
      .option('--text <text>', "any part of the record's text")
      .option('--source <name>', 'source, exactly')
      .option('--json', 'print one JSON object a line');
  }
}
