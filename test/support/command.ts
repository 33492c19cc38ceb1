import { vi } from 'vitest';
import { runProgram } from '../../src/commands/program.ts';
import { exitCodeOf } from '../../src/commands/shared/process.ts';
import { describeError } from '../../src/lib/errors.ts';
import { printedBy } from './printed.ts';

/** How a command ended, and what it printed. */
interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Thrown where a command ends the process. */
class Exit extends Error {}

/** Runs a command to its end in this process, as `endOfProgram` does in a second for each in one of its own. */
export async function endOfCommand(
  env: Readonly<Record<string, string>>,
  ...words: string[]
): Promise<Ended> {
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    process.exitCode = code ?? 0;
    throw new Exit();
  });
  process.exitCode = 0;
  try {
    const { out, err } = await printedBy(() =>
      runProgram(env, words, () => env).catch((error: unknown) => {
        if (error instanceof Exit) return;
        process.stderr.write(`xiq-sink: ${describeError(error)}\n`);
        process.exitCode = exitCodeOf(error);
      }),
    );
    return { code: process.exitCode, stdout: out, stderr: err };
  } finally {
    process.exitCode = undefined;
    // A command leaves its listener to the end of its process.
    process.stdout.removeAllListeners('error');
    exit.mockRestore();
  }
}
