import type { Logger } from 'pino';
import { emulatorOptionsSchema, runEmulator, startedScreen } from '../../../emulator/run-emulator.ts';
import { UsageError } from '../../errors.ts';
import { flagOf } from '../flag-of.ts';

/** `emulator`: runs a stand-in for the cloud until the signal aborts. Throws a UsageError that names every invalid option. */
export async function printEmulator(options: unknown, logger: Logger, signal: AbortSignal): Promise<void> {
  const { data, error } = emulatorOptionsSchema.safeParse(options);
  if (data === undefined) {
    const problems = error.issues.map(({ path, message }) => `  ${flagOf(String(path[0]))} ${message}`);
    throw new UsageError(`Invalid options:\n${problems.join('\n')}`);
  }
  await runEmulator(data, {
    signal,
    logger,
    onStarted: (started) => void process.stdout.write(startedScreen(started)),
  });
}
