import { Command } from '@commander-js/extra-typings';
import packageJson from '../../package.json' with { type: 'json' };
import { defineCompletion } from './completion/define-completion.ts';
import { defineDestinations } from './destinations/define-destinations.ts';
import { defineDoctor } from './doctor/define-doctor.ts';
import { defineEvents } from './events/define-events.ts';
import { defineQuarantine } from './quarantine/define-quarantine.ts';
import { defineServing } from './serve/define-serving.ts';
import { defineSql } from './sql/define-sql.ts';
import { defineSubscribe } from './subscribe/define-subscribe.ts';
import { defineTrial } from './demo/define-trial.ts';
import { WRONG_USAGE } from './exit-codes.ts';
import { examples } from './options.ts';
import { settingsOf } from './settings.ts';

const DOCS = `
Every setting is an environment variable: .env.example has all of them.
Documentation: README.md and docs/ beside this program.`;

/**
 * All commands of `xiq-sink`, under this environment. Definitions load nothing heavy, for completion asks for them at
 * each press of a key: what a command does is imported once it runs.
 */
export function defineProgram(env: Readonly<Record<string, string | undefined>>): Command {
  const settings = settingsOf(env);
  const program = new Command('xiq-sink')
    .description(
      'Receives the webhooks of the network management cloud service and keeps every event in Postgres.',
    )
    .version(packageJson.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'tell how to use it, or a command')
    .showHelpAfterError('(--help tells how)')
    .showSuggestionAfterError()
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
      ) + `\n${DOCS}`,
    );

  program.commandsGroup('Receive, store and forward:');
  defineServing(program, settings);
  defineSubscribe(program, settings);

  program.commandsGroup('Ask:');
  defineEvents(program, settings);
  defineSql(program, settings);

  program.commandsGroup('Operate:');
  defineDoctor(program, settings);
  defineQuarantine(program, settings);
  defineDestinations(program, settings);

  program.commandsGroup('Try:');
  defineTrial(program, env);

  program.commandsGroup('More:').helpCommand('help [command]', 'tell how to use a command');
  defineCompletion(program);
  return program;
}
