import type { Command } from '@commander-js/extra-typings';
import { defineCommand, month, sourceOption } from '../shared/options.ts';
import { FAILED } from '../shared/process.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineCertificate(program: Command, settings: Settings): void {
  defineCommand(program, 'certificate', 'write a one-page certificate for a month', [
    'xiq-sink certificate --month 2026-03 --out march.html',
    'xiq-sink certificate --month 2026-03 --source berlin --json',
  ])
    .requiredOption('--month <month>', 'the month, in UTC, such as 2026-03', month)
    .addOption(sourceOption())
    .option('--out <file>', 'write to this file instead of standard output')
    .option('--json', 'print a JSON object instead of HTML')
    .addHelpText(
      'after',
      '\nFirst compares the rows of the month with their seal.\nExits with 1 if a row is altered, missing or inserted.\nDocumentation: docs/integrity.md.',
    )
    .action(async ({ month: range, source, out, json }) => {
      const { makeCertificate } = await import('./certificate.ts');
      const { archivedEvents } = await import('../../archive/verify-archive.ts');
      const { readTrust } = await import('../../seal/trust.ts');
      const { logKeyFileOf, readLogKeys } = await import('../../seal/log-key.ts');
      await runOnStore(settings, async ({ db, archive }, config) => {
        await using archived = archivedEvents(archive);
        return await makeCertificate(
          { db, archived },
          await readTrust(config),
          (await readLogKeys(logKeyFileOf(config))).signing,
          { ...range, source },
          out,
          json === true,
        );
      });
    });
}

export function defineVerifyCertificate(program: Command): void {
  defineCommand(program, 'verify-certificate', 'check the signature of a certificate', [
    'xiq-sink verify-certificate march.html',
    'xiq-sink verify-certificate march.html --key xiq-sink/5f0c2a52-0b43-4a51-9d10-4d2a6b0f7a0e+848d8927+ARx...',
  ])
    .argument('<file>', 'an HTML certificate')
    .option(
      '--key <public-key...>',
      'accept only these public keys; without this option, compare the printed key yourself',
    )
    .addHelpText(
      'after',
      '\nNeeds no database and no settings.\nExits with 1 if the file was changed or is not signed.',
    )
    .action(async (file, { key = [] }) => {
      const { verifyCertificate } = await import('./certificate.ts');
      if (!(await verifyCertificate(file, key))) process.exitCode = FAILED;
    });
}
