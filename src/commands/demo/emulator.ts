import { styleText } from 'node:util';
import type { Logger } from 'pino';
import { emulatorOptionsSchema, runEmulator } from '../../../emulator/run-emulator.ts';
import type { EmulatorStarted } from '../../../emulator/run-emulator.ts';
import { UsageError } from '../../errors.ts';
import { flagOf } from '../flag-of.ts';

/** `emulator`: a stand-in for the cloud, until the signal fires. Throws a UsageError that names every wrong option. */
export async function printEmulator(options: unknown, logger: Logger, signal: AbortSignal): Promise<void> {
  const { data, error } = emulatorOptionsSchema.safeParse(options);
  if (data === undefined) {
    const problems = error.issues.map(({ path, message }) => `  ${flagOf(String(path[0]))}: ${message}`);
    throw new UsageError(`wrong options:\n${problems.join('\n')}`);
  }
  await runEmulator(data, {
    signal,
    logger,
    onStarted: (started) => void process.stdout.write(`${startedScreen(started)}\n`),
  });
}

function startedScreen({ url, logins }: EmulatorStarted): string {
  const accounts = logins.map(({ username, password, role }) => `  ${username}  ${password}  ${role}`);
  return [
    styleText('bold', `The emulated cloud is at ${url}`),
    '',
    'Accounts (user name, password, role):',
    ...accounts,
    '',
    'Let xiq-sink subscribe to it, in another terminal:',
    `  export CLOUD_API_URL=${url} CLOUD_USERNAME=${logins[0]?.username} CLOUD_PASSWORD=${logins[0]?.password}`,
    '  PUBLIC_URL=http://localhost:8080 SUBSCRIBE=auto bin/xiq-sink serve',
    '',
    `What it has sent: curl ${url}/emulator/status`,
    `What it can do:   ${url}/openapi.json`,
  ].join('\n');
}
