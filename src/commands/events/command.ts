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
    `xiq-sink events search --saved 'Failed logins'`,
    'xiq-sink events search --user admin@example.com --code 10001',
    'xiq-sink events search --mac aa:bb:cc:dd:ee:ff --json',
  ])
    .option('--limit <number>', 'maximum number of events', atLeastOne, '50')
    .option('--after <position>', 'continue after the last event of a page', position)
    .option('--json', 'print one JSON object per line')
    .action(async (query, { limit, after, json, ...filter }) => {
      const { printSearch } = await import('./search.ts');
      const { withSaved } = await import('./saved.ts');
      const page = { limit: Number(limit), after };
      await runOnStore(settings, async ({ db, events }) => {
        const { saved, ...asked } = await withSaved(db, filter);
        await printSearch(
          events,
          toFilter([...saved, ...(query ?? [])], withRange(asked)),
          page,
          json === true,
        );
      });
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
      const { withSaved } = await import('./saved.ts');
      await runOnStore(settings, async ({ db, events }) => {
        const { saved, ...asked } = await withSaved(db, filter);
        const range = toFilter([...saved, ...(query ?? [])], withRange(asked));
        await exportEvents(events, range, { format, output, bom }, signal);
      });
    });

  defineCommand(events, 'saved', 'list the searches saved in the console', [
    'xiq-sink events saved --json',
    'xiq-sink events saved --delete "Failed logins"',
  ])
    .option('--delete <name>', 'delete the searches with this name')
    .option('--json', 'print one JSON object per line')
    .action(async ({ delete: name, json }) => {
      const { deleteSaved, printSaved } = await import('./saved.ts');
      await runOnStore(settings, ({ db }) =>
        name === undefined ? printSaved(db, json === true) : deleteSaved(db, name),
      );
    });

  function rangeCommand(name: string, description: string, lines: readonly string[]) {
    return eventsCommand(name, description, lines)
      .option('--saved <name>', 'a search saved in the console; further conditions narrow it')
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
