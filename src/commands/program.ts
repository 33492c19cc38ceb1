import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandName } from '../lib/text/command-name.ts';
import { revealHidden } from '../lib/text/hidden-characters.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { defineAccess } from './access/command.ts';
import { defineAlerts } from './alerts/command.ts';
import { defineBackfill } from './backfill/command.ts';
import { defineBackup } from './backup/command.ts';
import { defineCompletion } from './completion.ts';
import { defineCertificate, defineVerifyCertificate } from './certificate/command.ts';
import { defineCoverage } from './coverage/command.ts';
import { defineDemo } from './demo/command.ts';
import { defineDestinations } from './destinations/command.ts';
import { defineDoctor } from './doctor/command.ts';
import { defineEmulator } from './emulator.ts';
import { defineArchive, defineUnarchive } from './archive/command.ts';
import { defineErase } from './erase/command.ts';
import { defineEvents } from './events/command.ts';
import { defineExportProof } from './export-proof/command.ts';
import { defineMcp } from './mcp/command.ts';
import { defineMigrate } from './migrate.ts';
import { defineMoveTo } from './move-to/command.ts';
import { defineProve } from './prove/command.ts';
import { defineQuarantine } from './quarantine/command.ts';
import { defineReport } from './report/command.ts';
import { defineServe } from './serve/command.ts';
import { examples } from './shared/options.ts';
import { WRONG_USAGE } from './shared/process.ts';
import { settingsOf } from './shared/run-on-store.ts';
import { defineSources } from './sources/command.ts';
import { defineSql } from './sql/command.ts';
import { defineSubscribe } from './subscribe/command.ts';
import { defineVerify } from './verify/command.ts';
import type { Environment } from '../config/references.ts';

const DOCS = `
Settings are environment variables. The file .env.example lists all of them.
Documentation: README.md and the directory docs/.`;

/**
 * Runs the command that these words name, with the settings of this environment; `reread` reads it again for a reload.
 * Rejects with what the command throws.
 */
export async function runProgram(env: Environment, words: readonly string[], reread: () => Environment) {
  const program = defineProgram(env, reread);
  await program.parseAsync(wordsToParse(program, words), { from: 'user' });
}

/**
 * Defines all commands of `xiq-sink` for this environment. Definitions load nothing heavy, because completion reads
 * them at each press of the Tab key: a command imports its work when it runs.
 */
export function defineProgram(env: Environment, reread: () => Environment = () => env): Command {
  const settings = settingsOf(() => env);
  const program = new Command('xiq-sink')
    .description('Receives the webhooks of ExtremeCloud IQ and stores every event in Postgres.')
    .version(packageJson.version, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help for a command')
    // The longest commands leave less room for their descriptions than commander wraps by default.
    .configureHelp({ minWidthToWrap: 24 })
    .showSuggestionAfterError()
    .configureOutput({
      outputError: (text, write) =>
        write(revealHidden(text.replace(/^error: (?:command-argument value )?/, 'xiq-sink: '))),
    })
    .exitOverride((error) => {
      process.exit(error.exitCode === 0 ? 0 : WRONG_USAGE);
    })
    .addHelpText(
      'after',
      examples(
        'xiq-sink serve',
        'xiq-sink events search --since 24h --user admin@example.com',
        'xiq-sink doctor',
        'xiq-sink quarantine list --help',
      ),
    )
    .addHelpText('after', DOCS);

  program.commandsGroup('Receive, store and forward:');
  defineServe(program, env, settings, settingsOf(reread));
  defineMigrate(program, settings);
  defineSubscribe(program, settings);
  defineBackfill(program, settings);

  program.commandsGroup('Query:');
  defineEvents(program, settings);
  defineCoverage(program, settings);
  defineCertificate(program, settings);
  defineVerifyCertificate(program);
  defineReport(program, settings);
  defineSql(program, settings);
  defineMcp(program, env);
  defineVerify(program, settings);
  defineProve(program, settings);
  defineExportProof(program, settings);

  program.commandsGroup('Operate:');
  defineDoctor(program, settings);
  defineQuarantine(program, settings);
  defineErase(program, settings);
  defineArchive(program, settings);
  defineUnarchive(program, settings);
  defineDestinations(program, settings);
  defineAlerts(program, settings);
  defineSources(program, settings);
  defineAccess(program, settings);
  defineBackup(program, settings);
  defineMoveTo(program, env);

  program.commandsGroup('Try:');
  defineDemo(program, env);
  defineEmulator(program);

  program.commandsGroup('More:');
  defineCompletion(program);
  completeHelp(program, commandName());
  return program;
}

/** Gives a command and all below it the command to read on with after an error, which `words` begin. */
function completeHelp(command: CommandUnknownOpts, words: string): void {
  command.showHelpAfterError(`For help: ${words} --help`);
  if (command.commands.length > 0) command.helpCommand('help [command]', 'show help for a command');
  for (const one of command.commands) completeHelp(one, `${words} ${one.name()}`);
}

const HELP_WORDS: ReadonlySet<string> = new Set(['-h', '--help', 'help']);

/**
 * The words without their request for help when they name no command. Commander would show the general help and
 * succeed; without that request it reports the unknown command and suggests a similar one.
 */
function wordsToParse(program: CommandUnknownOpts, words: readonly string[]): readonly string[] {
  const withoutHelp = words.filter((word) => !HELP_WORDS.has(word));
  let command = program;
  for (const word of withoutHelp) {
    if (command.commands.length === 0 || word.startsWith('-')) return words;
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) return withoutHelp;
    command = next;
  }
  return words;
}
