import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import { monthRange } from '../../lib/text/parse-time.ts';
import { defineCommand, sourceOption } from '../shared/options.ts';
import { FAILED } from '../shared/process.ts';
import { runOnStore, type Settings } from '../shared/run-on-store.ts';

export function defineCertificate(program: Command, settings: Settings): void {
  defineCommand(
    program,
    'certificate',
    'say on one page what was received in a month, and what is proven of it',
    [
      'xiq-sink certificate --month 2026-03 --out march.html',
      'xiq-sink certificate --month 2026-03 --source berlin --json',
    ],
  )
    .requiredOption('--month <month>', 'the month, in UTC: 2026-03', month)
    .addOption(sourceOption())
    .option('--out <file>', 'write to this file, not to the standard output')
    .option('--json', 'print a JSON object instead of HTML')
    .addHelpText(
      'after',
      '\nCompares the rows of the month with their seal first. Exits with 1 if one is altered, missing or inserted.\nDocumentation: docs/integrity.md.',
    )
    .action(async ({ month: range, source, out, json }) => {
      const { makeCertificate } = await import('./certificate.ts');
      const { readTrust } = await import('../../seal/trust.ts');
      await runOnStore(settings, async ({ db }, config) => {
        const isIntact = await makeCertificate(
          db,
          await readTrust(config),
          { ...range, source },
          out,
          json === true,
        );
        if (!isIntact) process.exitCode = FAILED;
      });
    });
}

function month(text: string) {
  const range = monthRange(text);
  if (range === undefined) throw new InvalidArgumentError('It must be a month such as 2026-03.');
  return range;
}
