import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { exitCodeOf } from './commands/shared/process.ts';
import { describeError, UsageError } from './lib/errors.ts';
import { revealHidden } from './lib/text/hidden-characters.ts';

// A reader that closes the pipe early (`| head`) is not a failure: the command ends as usual and cleans up.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const given = { ...process.env };

/** The environment as it was given, with the settings of .env as they are now. */
const reread = () => ({ ...readEnvFile(path.resolve('.env')), ...given });

try {
  Object.assign(process.env, reread());
  const { runProgram } = await import('./commands/program.ts');
  await runProgram(process.env, process.argv.slice(2), reread);
} catch (thrown) {
  const error = explainMissingPackage(thrown);
  process.stderr.write(`xiq-sink: ${revealHidden(describeError(error))}\n`);
  process.exitCode = exitCodeOf(error);
}

/** The settings in a file; none if it does not exist. */
function readEnvFile(file: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return {};
    throw new UsageError(`cannot read the settings in ${file}`, { cause });
  }
}

/** An error of an import, as one that says what to do when a package is missing. Any other error as it is. */
function explainMissingPackage(error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) return error;
  const root = path.resolve(import.meta.dirname, '..');
  return new UsageError(`Packages that xiq-sink needs are not installed. Run npm install in ${root} first.`, {
    cause: error,
  });
}
