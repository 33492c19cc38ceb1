import path from 'node:path';
import { RootCommand, script } from '@bomb.sh/tab';
import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { print } from '../print.ts';

/** The command line of this checkout or image: what the scripts of the shells run, also where it is not on the PATH. */
const PROGRAM = path.resolve(import.meta.dirname, '../../bin/xiq-sink');

/** `completion`: the script that a shell reads. */
export function printCompletionScript(name: string, shell: string): void {
  const program = PROGRAM.replaceAll(/[^\w@%+=:,./-]/g, '\\$&');
  if (shell === 'bash') print(bashScript(name, program));
  else script(shell, name, shell === 'powershell' ? PROGRAM : program);
}

/**
 * Of our own, for the one of the library needs the package bash-completion, and evaluates what is being typed. It
 * splits the line at spaces as far as the cursor, and works in the bash 3.2 of macOS.
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
complete -F __${name.replaceAll('-', '_')}_complete ${name}`;

/** `complete`: what the last of these words can become, a line each, as the scripts of the shells expect it. */
export function printCompletions(program: CommandUnknownOpts, words: readonly string[]): void {
  const root = new RootCommand();
  addOptions(program, root);
  for (const [name, command] of subcommandsOf(program, [])) {
    const described = root.command(name, command.description());
    addOptions(command, described);
    for (const argument of command.registeredArguments) {
      const choices = argument.argChoices ?? [];
      const complete = (suggest: Suggest) => choices.forEach((choice) => suggest(choice, ''));
      described.argument(argument.name(), complete, argument.variadic);
    }
  }
  root.parse([...words]);
}

type Suggest = (value: string, description: string) => void;

/** Every command below, with its whole name: `quarantine list`. */
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
    if (takesValue(option)) {
      const choices = option.argChoices ?? [];
      const complete = (suggest: Suggest) => choices.forEach((choice) => suggest(choice, ''));
      described.option(name, description, complete, short);
    } else if (short === undefined) described.option(name, description);
    else described.option(name, description, short);
  }
}

const takesValue = ({ required, optional }: Option) => required || optional;
