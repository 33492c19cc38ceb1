import { inspect } from 'node:util';
import { Command } from 'commander';
import { dialectHelp, EMULATOR_OPTIONS, flagOf } from './command-options.ts';
import { emulatorOptionsSchema, runEmulator, startedScreen } from './run-emulator.ts';

// The emulator as a program of its own: `node emulator/main.ts --rate 20`.
const program: Command = new Command('emulator').description(
  'Run a stand-in for the network management cloud, for demos and tests, until Ctrl-C.',
);
for (const { name, meaning, default: usual } of EMULATOR_OPTIONS) {
  program.option(`${flagOf(name)} <value>`, meaning, usual);
}
program.addHelpText('after', dialectHelp);
const { data: options, error } = emulatorOptionsSchema.safeParse(program.parse().opts());
if (options === undefined) {
  const problems = error.issues.map(({ path, message }) => `  ${flagOf(String(path[0]))} ${message}`);
  program.error(`Invalid options:\n${problems.join('\n')}`, { exitCode: 2 });
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
try {
  await runEmulator(options, {
    signal: stop.signal,
    logger: { error: (fields, message) => void process.stderr.write(`${message} ${inspect(fields)}\n`) },
    onStarted: (started) => void process.stdout.write(startedScreen(started)),
  });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
