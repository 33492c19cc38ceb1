import os from 'node:os';
import type { Command } from '@commander-js/extra-typings';
import { defineCommand, month } from '../shared/options.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineArchive(program: Command, settings: Settings): void {
  defineCommand(program, 'archive', 'move sealed months out of the database into compressed files', [
    'xiq-sink archive --before 2026-01 --dry-run',
    'xiq-sink archive --before 2026-01',
  ])
    .requiredOption('--before <month>', 'archive the months before this one, such as 2026-01', month)
    .option('--dry-run', 'only list the months and their sizes')
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      '\nExits with 1 if a month stays; the reason is printed.\nDocumentation: docs/archive.md.',
    )
    .action(async ({ before, dryRun, json }) => {
      // The service goes first.
      os.setPriority(os.constants.priority.PRIORITY_BELOW_NORMAL);
      const { archive } = await import('./archive.ts');
      const options = { before: before.since, isDryRun: dryRun === true, asJson: json === true };
      await runOnStore(settings, ({ archive: access }) => archive(access, options));
    });
}

export function defineUnarchive(program: Command, settings: Settings): void {
  defineCommand(program, 'unarchive', 'bring an archived month back into the database', [
    'xiq-sink unarchive --month 2025-11',
  ])
    .requiredOption('--month <month>', 'the month, in UTC, such as 2025-11', month)
    .addHelpText(
      'after',
      '\nWith ARCHIVE_AFTER_MONTHS, serve archives the month again within the hour.\nDocumentation: docs/archive.md.',
    )
    .action(async ({ month: range }) => {
      const { unarchive } = await import('./archive.ts');
      await runOnStore(settings, ({ archive: access }) => unarchive(access, range));
    });
}
