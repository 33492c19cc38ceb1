import { Option, type Command } from '@commander-js/extra-typings';
import {
  atLeastOne,
  defineCommand,
  macAddress,
  position,
  searchLine,
  time,
  TIME_FORMS,
  typesOption,
  wholeNumber,
  withRange,
  zoneOption,
} from '../shared/options.ts';
import { exactTerms, type SearchTerm } from '../../events/search-query.ts';
import type { EventFilter } from '../../store/events/event-filter.ts';
import { stopSignal } from '../shared/process.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineEvents(program: Command, settings: Settings): void {
  const events = program.command('events').description('search, follow and export stored events');

  rangeCommand('search', 'print matching events, newest first', [
    'xiq-sink events search --since 24h --type AUDIT_LOG_ALL',
    `xiq-sink events search --since 7d 'user:dina*'`,
    'xiq-sink events search --user admin@example.com --code 10001',
    'xiq-sink events search --mac aa:bb:cc:dd:ee:ff --json',
  ])
    .option('--limit <number>', 'maximum number of events', atLeastOne, '50')
    .option('--after <position>', 'continue after the last event of a page', position)
    .option('--json', 'print one JSON object per line')
    .action(async (query, { limit, after, json, ...filter }) => {
      const { printSearch } = await import('./search.ts');
      const page = { limit: Number(limit), after };
      await runOnStore(settings, ({ events }) =>
        printSearch(events, toFilter(query, withRange(filter)), page, json === true),
      );
    });

  eventsCommand('tail', 'print matching events as they are stored, until Ctrl-C', [
    'xiq-sink events tail --type AUTHENTICATION_LOG_ALL',
    'xiq-sink events tail --json | jq .',
  ])
    .option('--json', 'print one JSON object per line')
    .action(async (query, { json, ...filter }) => {
      const signal = stopSignal();
      const { followEvents } = await import('./search.ts');
      await runOnStore(settings, ({ db }) =>
        followEvents(db, toFilter(query, filter), json === true, signal),
      );
    });

  rangeCommand('export', 'export all matching events, newest first (recorded in the operator log)', [
    'xiq-sink events export --format csv --type AUDIT_LOG_ALL --since 30d --output audit.csv',
    'xiq-sink events export --format ndjson --user admin@example.com | gzip > admin.ndjson.gz',
  ])
    .addOption(
      new Option('--format <format>', 'CSV with a header line, or one JSON object per line')
        .choices(['csv', 'ndjson'] as const)
        .makeOptionMandatory(),
    )
    .option('--output <file>', 'write to this file instead of standard output')
    .option('--bom', 'begin CSV with a byte order mark, for spreadsheets')
    .action(async (query, { format, output, bom, ...filter }) => {
      const signal = stopSignal();
      const { exportEvents } = await import('./export.ts');
      const range = toFilter(query, withRange(filter));
      await runOnStore(settings, ({ events }) =>
        exportEvents(events, range, { format, output, bom }, signal),
      );
    });

  function rangeCommand(name: string, description: string, lines: readonly string[]) {
    return eventsCommand(name, description, lines)
      .option('--since <time>', `start of the range: ${TIME_FORMS}`, time)
      .option('--until <time>', 'end of the range, exclusive', time)
      .addOption(zoneOption());
  }

  function eventsCommand(name: string, description: string, lines: readonly string[]) {
    return defineCommand(events, name, description, lines)
      .argument('[query]', 'search line, such as user:dina* -type:location "any text"', searchLine)
      .addOption(typesOption())
      .option('--user <name>', 'user name, in any case')
      .option('--code <code>', 'event code of an audit record', wholeNumber)
      .option('--mac <address>', 'MAC address of a client or an access point, in any notation', macAddress)
      .option('--ap <address>', 'MAC address of an access point', macAddress)
      .option('--device <name>', 'exact serial number, host name or id of a device, or source of an alert')
      .option('--org <id>', 'organization id', wholeNumber)
      .option('--text <text>', 'text in the record')
      .option('--source <name>', 'source name');
  }
}

function toFilter(
  terms: readonly SearchTerm[] | undefined,
  { since, until, ...fields }: Pick<EventFilter, 'since' | 'until'> & Parameters<typeof exactTerms>[0],
): EventFilter {
  return { since, until, terms: [...(terms ?? []), ...exactTerms(fields)] };
}
