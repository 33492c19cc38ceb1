import { styleText } from 'node:util';
import type { Command } from '@commander-js/extra-typings';
import { EMULATOR_OPTIONS } from '../../emulator/command-options.ts';
import type { EmulatorStarted } from '../../emulator/run-emulator.ts';
import { commandName } from '../command-name.ts';
import { UsageError } from '../errors.ts';
import { examples } from './shared/options.ts';
import { stopSignal } from './shared/process.ts';
import { quietLogger } from './shared/run-on-store.ts';

/** The command `emulator`. */
export function defineEmulator(program: Command): void {
  const emulator = program
    .command('emulator')
    .description('run an emulated cloud for demos and tests, until Ctrl-C')
    .addHelpText('after', examples('xiq-sink emulator', 'xiq-sink emulator --rate 200 --secret-form hmac'))
    .action((options) => runEmulatorUntilSignal(options));
  for (const { name, meaning, default: usual } of EMULATOR_OPTIONS) {
    emulator.option(`${flagOf(name)} <value>`, meaning, usual);
  }
}

/** Runs the emulator until Ctrl-C. Throws a UsageError that lists every wrong option. */
async function runEmulatorUntilSignal(options: unknown): Promise<void> {
  const signal = stopSignal();
  const { emulatorOptionsSchema, runEmulator } = await import('../../emulator/run-emulator.ts');
  const { data, error } = emulatorOptionsSchema.safeParse(options);
  if (data === undefined) {
    const problems = error.issues.map(({ path, message }) => `  ${flagOf(String(path[0]))}: ${message}`);
    throw new UsageError(`wrong options:\n${problems.join('\n')}`);
  }
  await runEmulator(data, {
    signal,
    logger: await quietLogger(),
    onStarted: (started) => void process.stdout.write(`${startedScreen(started)}\n`),
  });
}

/** An option's name as a person types it: `secretForm` is `--secret-form`. */
function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function startedScreen({ url, logins }: EmulatorStarted): string {
  const accounts = logins.map(({ username, password, role }) => `  ${username}  ${password}  ${role}`);
  return [
    styleText('bold', `The emulated cloud runs at ${url}`),
    '',
    'Accounts (user name, password, role):',
    ...accounts,
    '',
    'Subscribe xiq-sink to it, in another terminal:',
    `  export CLOUD_API_URL=${url} CLOUD_USERNAME=${logins[0]?.username} CLOUD_PASSWORD=${logins[0]?.password}`,
    `  PUBLIC_URL=http://localhost:8080 SUBSCRIBE=auto ${commandName()} serve`,
    '',
    `Status:          curl ${url}/emulator/status`,
    `API description: ${url}/openapi.json`,
  ].join('\n');
}
