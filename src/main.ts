import { defineProgram } from './commands/define-program.ts';
import { FAILED, WRONG_USAGE } from './commands/exit-codes.ts';
import { describeError, UsageError } from './errors.ts';

// A reader that has seen enough (`| head`) is no failure: the command ends as usual and cleans up behind it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await defineProgram(process.env).parseAsync();
} catch (error) {
  process.stderr.write(`xiq-sink: ${describeError(error)}\n`);
  process.exitCode = error instanceof UsageError ? WRONG_USAGE : FAILED;
}
