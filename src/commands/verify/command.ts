import type { Command } from '@commander-js/extra-typings';
import { UsageError } from '../../lib/errors.ts';
import { defineCommand, sourceOption, time, TIME_FORMS, withRange, zoneOption } from '../shared/options.ts';
import { FAILED } from '../shared/process.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineVerify(program: Command, settings: Settings): void {
  defineCommand(program, 'verify', 'check that stored events have not been changed', [
    'xiq-sink verify',
    'xiq-sink verify --since 7d --against /mnt/usb/checkpoint.txt',
    'xiq-sink verify --full --against https://audit.example.com/checkpoint --json',
    'xiq-sink verify ./proof-2026-10',
  ])
    .argument('[directory]', 'an exported proof to verify without the database (see export-proof)')
    .option('--since <time>', `start of the range, by the time of arrival: ${TIME_FORMS}`, time)
    .option('--until <time>', 'end of the range, exclusive (default: now)', time)
    .addOption(zoneOption())
    .addOption(sourceOption())
    .option('--against <file-or-url...>', 'files or https addresses with external checkpoints')
    .option(
      '--full',
      'compute the hashes in this program, and derive each column again from its payload; takes several times as long',
    )
    .option(
      '--accept <reason>',
      'continue from a database that lacks events seen by this machine, such as an older backup; the operator log records the reason',
    )
    .option('--json', 'print one JSON object per finding, then one with the counts')
    .addHelpText(
      'after',
      '\nExits with 1 if anything is ALTERED, MISSING, INSERTED or NOT PROVEN.\nDocumentation: docs/integrity.md.',
    )
    .action(async (directory, { json, full, accept, against = [], ...options }) => {
      const range = withRange(options);
      const { acceptSeen, verify, verifyExported } = await import('./verify.ts');
      const { archivedEvents } = await import('../../archive/verify-archive.ts');
      const { readTrust } = await import('../../seal/trust.ts');
      if (directory !== undefined) {
        if (
          full === true ||
          [range.since, range.until, range.source, accept].some((value) => value !== undefined)
        ) {
          throw new UsageError(
            'A directory is always verified completely. Omit --since, --until, --source, --full and --accept.',
          );
        }
        if (!(await verifyExported(directory, against, json === true))) process.exitCode = FAILED;
        return;
      }
      await runOnStore(settings, async ({ db, archive }, config) => {
        if (accept !== undefined) await acceptSeen(db, config, accept);
        await using archived = archivedEvents(archive);
        const trust = await readTrust(config);
        const chosen = { ...range, isFull: full === true, against, trust, archived };
        return await verify(db, chosen, json === true);
      });
    });
}
