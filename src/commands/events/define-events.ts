import { Option } from '@commander-js/extra-typings';
import type { Command } from '@commander-js/extra-typings';
import { onStore } from '../on-store.ts';
import {
  examples,
  macAddress,
  position,
  time,
  typesOption,
  wholeNumber,
  withRange,
  zoneOption,
} from '../options.ts';
import type { Settings } from '../settings.ts';
import { stopSignal } from '../stop-signal.ts';

/** The commands `events search|tail|export`. */
export function defineEvents(program: Command, settings: Settings): void {
  const events = program.command('events').description('find stored events, follow them, or take them out');

  rangeCommand('search', 'events that match, newest first')
    .option('--limit <number>', 'how many at most', wholeNumber, '50')
    .option('--after <position>', 'go on behind the last event of a page', position)
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      examples(
        'xiq-sink events search --since 24h --type AUDIT_LOG_ALL',
        'xiq-sink events search --user admin@example.com --code 10001',
        'xiq-sink events search --mac aa:bb:cc:dd:ee:ff --json',
      ),
    )
    .action(async ({ limit, after, json, ...filter }) => {
      const range = toFilter(withRange(filter));
      const { printSearch } = await import('./events.ts');
      await onStore(settings, ({ db }) =>
        printSearch(db, range, { limit: Number(limit), after }, json === true),
      );
    });

  eventsCommand('tail', 'events as they are stored, until Ctrl-C')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      examples('xiq-sink events tail --type AUTHENTICATION_LOG_ALL', 'xiq-sink events tail --json | jq .'),
    )
    .action(async ({ json, ...filter }) => {
      const signal = stopSignal();
      const { followEvents } = await import('./events.ts');
      await onStore(settings, ({ db }) => followEvents(db, toFilter(filter), json === true, signal));
    });

  rangeCommand('export', 'write all events that match, newest first; the operator log keeps that you did')
    .addOption(
      new Option('--format <format>', 'CSV with a heading, or one JSON object a line')
        .choices(['csv', 'ndjson'] as const)
        .makeOptionMandatory(),
    )
    .option('--output <file>', 'write to this file, not to standard output')
    .addHelpText(
      'after',
      examples(
        'xiq-sink events export --format csv --type AUDIT_LOG_ALL --since 30d --output audit.csv',
        'xiq-sink events export --format ndjson --user admin@example.com | gzip > admin.ndjson.gz',
      ),
    )
    .action(async ({ format, output, ...filter }) => {
      const range = toFilter(withRange(filter));
      const signal = stopSignal();
      const { exportEvents } = await import('./events-export.ts');
      await onStore(settings, ({ db }) => exportEvents(db, range, { format, output }, signal));
    });

  /** A command about the events of a time range. */
  function rangeCommand(name: string, description: string) {
    return eventsCommand(name, description)
      .option('--since <time>', 'from this time on: 2026-01-31, 2026-01-31T08:00, or 90m, 12h, 7d ago', time)
      .option('--until <time>', 'before this time', time)
      .addOption(zoneOption());
  }

  /** A command about events, with the conditions that all of them take. */
  function eventsCommand(name: string, description: string) {
    return events
      .command(name)
      .description(description)
      .addOption(typesOption())
      .option('--user <name>', 'user name, exactly')
      .option('--code <code>', "the audit record's event code", wholeNumber)
      .option('--mac <address>', 'MAC address of a client or an access point, in any notation', macAddress)
      .option('--ap <address>', 'MAC address of an access point', macAddress)
      .option('--device <name>', "a device's serial number, host name or id, exactly")
      .option('--org <id>', 'organization', wholeNumber)
      .option('--text <text>', "any part of the record's text")
      .option('--source <name>', 'source, exactly');
  }
}

/** The conditions by the names that the store gives them. */
function toFilter<Type, Other extends object>({
  type,
  ap,
  org,
  ...others
}: { type?: Type; ap?: string | undefined; org?: string | undefined } & Other) {
  return { ...others, messageTypes: type, accessPoint: ap, orgId: org };
}
