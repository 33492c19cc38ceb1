import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { createProgress } from '../faults/progress.ts';
import { machineEnvironment } from './machine.ts';
import { PLACES } from './places.ts';
import { describeVerdict, formatRows, type Row } from './report.ts';
import { tryPlace } from './try-place.ts';
import { print, runScript } from '../support/script.ts';

const command = new Command('npm run test:anywhere --')
  .description(
    'Clones what is committed to every kind of place, installs and starts it there as the README says, runs the lines ' +
      'that it prints, and stops it by Ctrl-C. Exit code 1 if one place fails.',
  )
  .option('--short', 'some places, with a few of the tests: within 3 minutes', false)
  .addOption(new Option('--only <names...>', 'these places only').choices(PLACES.map(({ name }) => name)))
  .option('--list', 'print the places instead of trying them', false)
  .action(async ({ short, only, list }) => {
    const plan = PLACES.filter(({ name, isShort = false }) =>
      only === undefined ? isShort || !short : only.includes(name),
    );
    if (list) return print(plan.map(({ name, title }) => `${name.padEnd(20)}${title}`).join('\n'));
    const logs = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-anywhere-logs-'));
    await runScript(async (signal) => {
      const rows = await tryAll(plan, short, logs, signal);
      print(`\n${formatRows(rows)}`);
      const isGood = rows.every(({ failures }) => failures.length === 0);
      if (isGood) await rm(logs, { recursive: true });
      return isGood;
    });
  });

/** Tries the places one after the other: each has the machine for itself. */
async function tryAll(
  plan: typeof PLACES,
  isShort: boolean,
  logs: string,
  signal: AbortSignal,
): Promise<Row[]> {
  using progress = createProgress(process.stderr);
  const env = await machineEnvironment();
  const rows: Row[] = [];
  for (const place of plan) {
    const said = progress.row(place.title);
    const logFile = path.join(logs, `${place.name}.log`);
    const row = await tryPlace(place, { env, isShort, logFile, signal }, said);
    for (const failure of row.failures) said.line(failure);
    if (row.failures.length > 0) said.line(`complete output: ${logFile}`);
    said.end(describeVerdict(row));
    rows.push(row);
  }
  return rows;
}

await command.parseAsync();
