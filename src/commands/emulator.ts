import type { Command } from '@commander-js/extra-typings';
import { dialectHelp, EMULATOR_OPTIONS, flagOf } from '../../emulator/command-options.ts';
import { UsageError } from '../lib/errors.ts';
import { defineCommand } from './shared/options.ts';
import { stopSignal } from './shared/process.ts';
import { quietLogger } from './shared/run-on-store.ts';

export function defineEmulator(program: Command): void {
  const emulator = defineCommand(
    program,
    'emulator',
    'run an emulated cloud for demos and tests, until Ctrl-C',
    ['xiq-sink emulator', 'xiq-sink emulator --rate 200 --secret-form hmac'],
  )
    .addHelpText('after', dialectHelp)
    .action((options) => runEmulatorUntilSignal(options));
  for (const { name, meaning, default: usual } of EMULATOR_OPTIONS) {
    emulator.option(`${flagOf(name)} <value>`, meaning, usual);
  }
}

async function runEmulatorUntilSignal(options: unknown): Promise<void> {
  const signal = stopSignal();
  const { emulatorOptionsSchema, runEmulator, startedScreen } =
    await import('../../emulator/run-emulator.ts');
  const { data, error } = emulatorOptionsSchema.safeParse(options);
  if (data === undefined) {
    const problems = error.issues.map(({ path, message }) => `  ${flagOf(String(path[0]))} ${message}`);
    throw new UsageError(`Invalid options:\n${problems.join('\n')}`);
  }
  await runEmulator(data, {
    signal,
    logger: await quietLogger(),
    onStarted: (started) => void process.stdout.write(startedScreen(started)),
  });
}
