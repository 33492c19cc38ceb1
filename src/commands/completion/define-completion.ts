import { Argument } from '@commander-js/extra-typings';
import type { Command } from '@commander-js/extra-typings';
import { examples } from '../options.ts';

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

/** The command `completion`, and the hidden `complete` that the scripts of the shells ask. */
export function defineCompletion(program: Command): void {
  program
    .command('completion')
    .description('print what lets a shell complete commands, options and their values')
    .addArgument(new Argument('<shell>', 'for which shell').choices(SHELLS))
    .addHelpText(
      'after',
      examples(
        'source <(xiq-sink completion bash)',
        'source <(xiq-sink completion zsh)',
        'xiq-sink completion fish | source',
        'xiq-sink completion powershell | Out-String | Invoke-Expression',
      ),
    )
    .action(async (shell) => {
      const { printCompletionScript } = await import('./completion.ts');
      printCompletionScript(program.name(), shell);
    });

  program
    .command('complete', { hidden: true })
    .description('print what the words after -- can go on with')
    .argument('[words...]')
    .addHelpText('after', examples('xiq-sink complete -- quarantine ""'))
    .action(async (words) => {
      const { printCompletions } = await import('./completion.ts');
      printCompletions(program, words);
    });
}
