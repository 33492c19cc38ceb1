import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { defineProgram } from '../../src/commands/program.ts';
import { findBanned } from '../support/banned-phrases.ts';
import { endOfCommand } from '../support/command.ts';

function leavesOf(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

const nameOf = (command: CommandUnknownOpts): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

/** A command with all commands below it. */
const withSubcommands = (command: CommandUnknownOpts): CommandUnknownOpts[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
];

/** What `--help` prints. */
function helpOf(command: CommandUnknownOpts): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return help;
}

/** The examples of a help text, each as the words after `xiq-sink`, without what only the shell reads. */
function examplesOf(help: string): string[][] {
  const [, lines = ''] = /^Examples:\n((?: {2}.*\n)+)/m.exec(help) ?? [];
  return lines
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, typed = ''] = /(?:^|[\s(])(?:\S*\/)?xiq-sink(.*?)(?:\)| \| .*| > .*)?$/.exec(line) ?? [];
      return [...typed.matchAll(/"((?:\\.|[^"])*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
    });
}

/** The command that these words name, and what is left for it. */
function find(
  command: CommandUnknownOpts,
  words: readonly string[],
): [CommandUnknownOpts, readonly string[]] {
  const [first, ...rest] = words;
  const next = command.commands.find((one) => one.name() === first);
  return next === undefined ? [command, words] : find(next, rest);
}

/** Parses an example as the program would, and does nothing. */
async function parse(words: readonly string[]): Promise<string> {
  const [command, args] = find(defineProgram({}), words);
  let wasRun = false;
  command.exitOverride((error) => {
    throw error;
  });
  command.action(() => {
    wasRun = true;
  });
  if (args.includes('--help')) return nameOf(command);
  await command.parseAsync([...args], { from: 'user' });
  return wasRun ? nameOf(command) : 'nothing';
}

describe('the help of', () => {
  const commands = leavesOf(defineProgram({})).map((command) => ({ name: nameOf(command), command }));

  it.each(commands)('$name has examples, and they work', async ({ name, command }) => {
    const examples = examplesOf(helpOf(command));
    expect(examples.length).toBeGreaterThan(0);
    for (const words of examples) expect(await parse(words)).toBe(name);
  });

  it('every command is in plain words', () => {
    expect(withSubcommands(defineProgram({})).flatMap((command) => findBanned(helpOf(command)))).toEqual([]);
  });

  it('the program groups its commands, ends with examples that work, and says where the documentation is', async () => {
    const help = helpOf(defineProgram({}));
    expect(help).toContain('\nQuery:\n');
    expect(help).not.toContain('\nCommands:\n');
    const examples = examplesOf(help);
    expect(examples.length).toBeGreaterThan(2);
    for (const words of examples) expect(await parse(words)).not.toBe('nothing');
    expect(help).toMatch(/docs\//);
  });
});

describe('xiq-sink', () => {
  it.each([
    [['quarantine', 'lst'], 'Did you mean list?'],
    [['sql', '--cvs', 'select 1'], 'Did you mean --csv?'],
    [['no-such-command', '--help'], "unknown command 'no-such-command'"],
    [['quarantine', 'help', 'lst'], 'Did you mean list?'],
    [['-h', 'serv'], 'Did you mean serve?'],
    [[], 'Usage: xiq-sink'],
  ])('%j is wrong usage, and the program says what would be right', async (args, message) => {
    const { code, stderr } = await endOfCommand({}, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('begins errors with its name, and ends them with the command to read on with', async () => {
    const { stderr } = await endOfCommand({}, 'quarantine', 'list', '--sate', 'open');
    expect(stderr).toMatch(
      /^xiq-sink: unknown option '--sate'\n[^]*\nFor help: \S*xiq-sink quarantine list --help\n$/,
    );
  });

  it.each([
    [['--help'], 'Usage: xiq-sink [options]'],
    [['help', 'quarantine'], 'Usage: xiq-sink quarantine'],
    [['quarantine', 'help', 'list'], 'Usage: xiq-sink quarantine list'],
    [['--version'], packageJson.version],
  ])('%j prints what is asked for', async (args, text) => {
    const { code, stdout } = await endOfCommand({}, ...args);
    expect([code, stdout]).toEqual([0, expect.stringContaining(text)]);
  });
});
