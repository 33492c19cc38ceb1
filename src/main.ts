import { runProgram } from './commands/program.ts';
import { FAILED, WRONG_USAGE } from './commands/shared/process.ts';
import { describeError, UsageError } from './errors.ts';

// A reader that closes the pipe early (`| head`) is no failure: the command ends as usual and cleans up.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await runProgram(process.env, process.argv.slice(2));
} catch (error) {
  process.stderr.write(`xiq-sink: ${describeError(error)}\n`);
  process.exitCode = error instanceof UsageError ? WRONG_USAGE : FAILED;
}
