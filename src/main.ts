import path from 'node:path';
import { runProgram } from './commands/program.ts';
import { FAILED, WRONG_USAGE } from './commands/shared/process.ts';
import { describeError, UsageError } from './errors.ts';
import { revealHidden } from './hidden-characters.ts';

// A reader that closes the pipe early (`| head`) is not a failure: the command ends as usual and cleans up.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  loadEnvFile(path.resolve('.env'));
  await runProgram(process.env, process.argv.slice(2));
} catch (error) {
  process.stderr.write(`xiq-sink: ${revealHidden(describeError(error))}\n`);
  process.exitCode = error instanceof UsageError ? WRONG_USAGE : FAILED;
}

/** Adds the settings of a file, if it exists, to the environment, which comes first. */
function loadEnvFile(file: string): void {
  try {
    process.loadEnvFile(file);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return;
    throw new UsageError(`cannot read the settings in ${file}`, { cause });
  }
}
