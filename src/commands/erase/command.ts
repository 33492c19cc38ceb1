import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import { LEAST_PHONE_DIGITS, phoneDigits } from '../../erasure/phone-number.ts';
import { UsageError } from '../../lib/errors.ts';
import { defineCommand, eventId, macAddress, sourceOption, wholeNumber } from '../shared/options.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineErase(program: Command, settings: Settings): void {
  defineCommand(program, 'erase', 'delete all events of a person permanently, where the law requires it', [
    'xiq-sink erase --user jane@example.com --client-mac 0011.2233.4455 --dry-run',
    'xiq-sink erase --user jane@example.com --reason "request 17 of the data protection officer"',
    'xiq-sink erase --event 0b8e4f8e-6d0a-8a3f-9c4e-2f6d1f0a7b11 --reason "court order 3" --yes',
  ])
    .option('--user <name>', 'user name or e-mail address; repeat the option for several', listOf(filled))
    .option('--client-mac <address>', 'MAC address of a client, in any notation', listOf(macAddress))
    .option('--phone <number>', 'phone number, in any notation', listOf(phoneNumber))
    .option('--event <id>', 'id of an event', listOf(eventId))
    .addOption(sourceOption())
    .option('--all-sources', 'erase events of all sources (required if several are found)')
    .option('--reason <text>', 'reason to record and seal; must not name the person', filled)
    .option('--dry-run', 'only list what would be erased')
    .option('--yes', 'erase without asking')
    .option(
      '--backups-kept <days>',
      'days that backups are kept; prints when the last copy expires',
      wholeNumber,
    )
    .option('--suggest', 'only list clients deleted in the cloud whose events are still stored')
    .addHelpText('after', '\nDocumentation: docs/erasure.md.')
    .action(async ({ user = [], clientMac = [], phone = [], event = [], ...options }) => {
      const { erase, suggest } = await import('./erase.ts');
      if (options.suggest === true) return runOnStore(settings, ({ db }) => suggest(db));
      const { reason, dryRun } = options;
      if (user.length + clientMac.length + phone.length + event.length === 0) {
        throw new UsageError('Specify what to erase: --user, --client-mac, --phone or --event.');
      }
      if (reason === undefined && dryRun !== true) {
        throw new UsageError('Add --reason, or --dry-run to only list what would be erased.');
      }
      const { source, allSources = false } = options;
      if (source !== undefined && allSources)
        throw new UsageError('Give --source or --all-sources, not both.');
      return runOnStore(settings, ({ db, archive }, config) =>
        erase({ db, archive }, config, {
          source,
          allSources,
          person: { users: user, macs: clientMac, phones: phone },
          eventIds: event,
          reason: dryRun === true ? undefined : reason,
          isConfirmed: options.yes === true,
          backupsKept: options.backupsKept === undefined ? undefined : Number(options.backupsKept),
        }),
      );
    });
}

const listOf =
  (parse: (text: string) => string) =>
  (text: string, earlier: readonly string[] | undefined): readonly string[] => [
    ...(earlier ?? []),
    parse(text),
  ];

function filled(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.');
  return text.trim();
}

function phoneNumber(text: string): string {
  if (phoneDigits(text).length < LEAST_PHONE_DIGITS) {
    throw new InvalidArgumentError(
      `It must have at least ${LEAST_PHONE_DIGITS} digits, not counting leading zeros.`,
    );
  }
  return text;
}
