import type { RootCommand } from '@bomb.sh/tab';
import { Argument, type Command, type CommandUnknownOpts, type Option } from '@commander-js/extra-typings';
import { LAUNCHER } from '../lib/text/command-name.ts';
import { defineCommand, examples } from './shared/options.ts';

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

/** The command `completion`, and the hidden `complete`, which the completion scripts of the shells run. */
export function defineCompletion(program: Command): void {
  defineCommand(program, 'completion', 'print a completion script for a shell', [
    'source <(xiq-sink completion bash)',
    'source <(xiq-sink completion zsh)',
    'xiq-sink completion fish | source',
    'xiq-sink completion powershell | Out-String | Invoke-Expression',
  ])
    .addArgument(new Argument('<shell>', 'shell that reads the script').choices(SHELLS))
    .action((shell) => printCompletionScript(program.name(), shell));

  program
    .command('complete', { hidden: true })
    .description('print completions of the last word after --')
    .argument('[words...]')
    .addHelpText('after', examples('xiq-sink complete -- quarantine ""'))
    .action((words) => printCompletions(program, words));
}

async function printCompletionScript(name: string, shell: (typeof SHELLS)[number]): Promise<void> {
  const program = LAUNCHER.replaceAll(/[^\w@%+=:,./-]/g, '\\$&');
  if (shell === 'bash') {
    process.stdout.write(`${bashScript(name, program)}\n`);
    return;
  }
  const { script } = await import('@bomb.sh/tab');
  script(shell, name, shell === 'powershell' ? LAUNCHER : program);
}

/**
 * Our own script for bash: the library's script needs the package bash-completion and evaluates the typed text. This
 * one splits the line at spaces up to the cursor, works in bash 3.2 of macOS, and completes file names where it has nothing
 * to offer.
 */
const bashScript = (name: string, program: string) => `# bash completion for ${name}
__${name.replaceAll('-', '_')}_complete() {
  local line=\${COMP_LINE:0:COMP_POINT} words current value
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current=\${words[\${#words[@]} - 1]}
  [[ $current == --*=* ]] && current=\${current#*=}
  COMPREPLY=()
  while IFS=$'\\t' read -r value _; do
    [[ $value == :* || $value != "$current"* ]] || COMPREPLY+=("$value")
  done < <(${program} complete -- "\${words[@]:1}" 2> /dev/null)
}
complete -o default -F __${name.replaceAll('-', '_')}_complete ${name}`;

/** Prints the completions of the last of these words, one per line, in the form that the shell scripts expect. */
export async function printCompletions(program: CommandUnknownOpts, words: readonly string[]): Promise<void> {
  const { RootCommand } = await import('@bomb.sh/tab');
  const root = new RootCommand();
  addOptions(program, root);
  for (const [name, command] of subcommandsOf(program, [])) {
    const described = root.command(name, command.description());
    addOptions(command, described);
    for (const argument of command.registeredArguments) {
      described.argument(argument.name(), completerOf(argument.argChoices), argument.variadic);
    }
  }
  root.parse([...words]);
}

function* subcommandsOf(
  parent: CommandUnknownOpts,
  above: readonly string[],
): Generator<[string, CommandUnknownOpts]> {
  for (const command of parent.createHelp().visibleCommands(parent)) {
    const name = [...above, command.name()];
    yield [name.join(' '), command];
    yield* subcommandsOf(command, name);
  }
}

function addOptions(command: CommandUnknownOpts, described: Pick<RootCommand, 'option'>): void {
  for (const option of command.createHelp().visibleOptions(command)) {
    const { long, description } = option;
    if (long === undefined || long === null) continue;
    const name = long.slice(2);
    const short = option.short?.slice(1);
    if (takesValue(option)) described.option(name, description, completerOf(option.argChoices), short);
    else if (short === undefined) described.option(name, description);
    else described.option(name, description, short);
  }
}

const takesValue = ({ required, optional }: Option) => required || optional;

const completerOf =
  (choices: readonly string[] = []) =>
  (suggest: (value: string, description: string) => void) =>
    choices.forEach((choice) => suggest(choice, ''));
